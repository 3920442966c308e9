// Words for a POSIX shell: the one place where the program quotes them.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace voltpile {

// Returns `word` such that a POSIX shell reads it back as exactly this one word: unchanged if no shell
// treats any of its characters specially, else in single quotes ('it'\''s'). Zero bytes cannot be passed.
std::string shell_quote(std::string_view word);

// Returns the words as one command line that a shell splits into exactly these words.
std::string shell_command_line(std::span<const std::string> words);

}  // namespace voltpile
