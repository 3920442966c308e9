// The functions and the constant of expressions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ode/graph.h"

namespace voltpile::ode {

struct FunctionInfo {
    const char* name;
    int least_arguments;
    int most_arguments;
    int (*build)(Graph& graph, const std::vector<int>& arguments);  // returns the node of the value
};

// Returns nullptr for a name that is no function.
const FunctionInfo* function_named(std::string_view name);

std::vector<std::string> function_names();

// Returns the value of pi; nothing for other names.
std::optional<double> constant_named(std::string_view name);

}  // namespace voltpile::ode
