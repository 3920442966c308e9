// The decimal numbers between two bounds, as an expression.
#pragma once

#include <cstdint>
#include <optional>

#include "llm/grammar/expression.h"

namespace voltpile::llm {

// Whole numbers of at most this many digits.
inline constexpr int kMostDigits = 15;

// Whole numbers without leading zeros, plus signs and "-0", from `least` to `most`, where there are such
// bounds. Matches nothing if least is above most.
ExpressionPtr integer_range(std::optional<std::int64_t> least, std::optional<std::int64_t> most);

}  // namespace voltpile::llm
