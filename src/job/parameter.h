// Names of single numbers: "position[0].x", "integrate.dt". Sweep axes and overrides use them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "job/key_table.h"

namespace voltpile {

// A step of a path: "a.b[2].x" has the steps {"a"}, {"b"}, {2}, {"x"}.
struct PathStep {
    std::string name;
    int index = -1;  // -1: the step is a name
};

// Splits a path into steps. Returns nothing if the text is not a path.
std::optional<std::vector<PathStep>> parse_path(std::string_view text);

struct Parameter {
    const KeySpec* spec = nullptr;
    int element = 0;    // row-major
    std::string path;   // "system.position[0].x"
    std::string label;  // default name of its axis: "position_0_x"
};

// Returns the sweepable number that `text` names, or a message that says why it names none. length_of returns
// the number of elements of a key's value in this job; 0: unknown.
using Resolved = std::variant<Parameter, std::string>;
Resolved resolve_parameter(const std::string& text, const KeyTable& table,
                           const std::function<std::size_t(const KeySpec&)>& length_of);

}  // namespace voltpile
