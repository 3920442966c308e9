// Says whether a text from a file may stand in a line of output.
#pragma once

#include <string_view>

namespace voltpile {

// Returns whether a UTF-8 text holds no character that a terminal obeys instead of printing it: the control
// characters of ASCII and Latin-1, line and paragraph separators, and those that change the direction of
// writing.
bool is_one_line(std::string_view text);

}  // namespace voltpile
