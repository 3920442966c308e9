// Guards the TOML library, which recurses once per level of nesting, against texts made to exhaust the stack.
// It limits nested lists and inline tables by itself, but not the dots of a key (`a.a.a.a... = 1`).
#pragma once

#include <string_view>

namespace voltpile {

inline constexpr int max_key_dots = 8;

// The first line on which a key has more than max_key_dots dots; 0 if there is none.
int line_nested_too_deeply(std::string_view toml);

}  // namespace voltpile
