// Text for terminals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace voltpile {

// Breaks at blanks so that no line is longer than `columns`, indentation included, unless a single word is.
// No newline at the end.
std::string wrap(std::string_view text, std::size_t columns, std::size_t indentation);

}  // namespace voltpile
