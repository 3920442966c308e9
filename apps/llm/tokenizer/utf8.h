// UTF-8 as the Unicode standard defines it (table 3-7), and the few properties of characters that matter
// here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace voltpile::llm {

enum class Utf8Status {
    Whole,      // a well-formed character
    CutOff,     // the text ends within a character that is well-formed so far
    IllFormed,  // no character begins with these bytes
};

struct Utf8Character {
    Utf8Status status;
    std::size_t
        bytes;  // of the character; else of what one U+FFFD stands for ("maximal subpart"), at least 1
    std::uint32_t code_point;  // of a whole character, else 0
};

// The character at the beginning of `text`, which is not empty.
Utf8Character first_character(std::string_view text);

// Where the last character of valid text begins, which is not empty.
std::size_t last_character_begin(std::string_view text);

// Where the first byte is that belongs to no whole character, if there is one.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

// Throws JobError "what: byte N is not UTF-8" if there is one.
void check_utf8(std::string_view text, std::string_view what);

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

std::string to_utf8(std::uint32_t code_point);

// The Unicode property White_Space.
bool is_white_space(std::uint32_t code_point);

}  // namespace voltpile::llm
