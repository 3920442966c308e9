// What terminals obey in a text from a file instead of printing it.
#pragma once

#include <cstddef>
#include <string_view>

namespace voltpile {

// Returns whether a UTF-8 text holds no character that a terminal obeys instead of printing it: the control
// characters of ASCII and Latin-1, line and paragraph separators, and those that change the direction of
// writing.
bool is_one_line(std::string_view text);

// Returns the number of bytes, 1 to 3, of such a character at text[at]; 0: another begins there.
std::size_t obeyed_bytes(std::string_view text, std::size_t at);

}  // namespace voltpile
