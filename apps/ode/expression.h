// Reads expressions as people write them: "sigma*(y - x)", "x^2 + sin(2*pi*t)", "y < 0".
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ode/graph.h"

namespace voltpile::ode {

// What is wrong with an expression, in two lines more: the text, and a caret below the character.
class ExpressionError : public std::runtime_error {
  public:
    ExpressionError(const std::string& what, std::string_view text, std::size_t at);
};

// Returns the node that a name stands for, or nothing if the name is unknown. May throw std::runtime_error
// with the reason why the name cannot be used.
using ResolveName = std::function<std::optional<int>(const std::string&)>;

// How deep parentheses, signs, powers and definitions may nest, all together: bounds the recursion.
inline constexpr int kMostDepth = 200;

// Adds the expression to the graph and returns its node. Numbers, names, + - * / ^ (also **), parentheses,
// comparisons (1 or 0), functions and pi. known: names to suggest for unknown ones. depth: how deep the
// expression lies within others that are being read; the same after the call.
// Throws ExpressionError, also where a subexpression of constants is not a finite number.
int parse_expression(std::string_view text, Graph& graph, const ResolveName& resolve,
                     const std::vector<std::string>& known, int& depth);

// Whether the name is a function or pi, so that it can name nothing else.
bool is_reserved(std::string_view name);

// Whether the text is a name: letters, digits and underscores, the first no digit; at most 64.
bool is_name(std::string_view text);

}  // namespace voltpile::ode
