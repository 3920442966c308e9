// UTF-8 as the Unicode standard defines it (table 3-7), and the few character properties that tokenizers
// need.
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
    // Length of the character, or of the "maximal subpart" that one U+FFFD replaces; at least 1.
    std::size_t bytes;
    std::uint32_t code_point;  // 0 unless the character is whole
};

// Returns the first character of `text`, which must not be empty.
Utf8Character first_character(std::string_view text);

// Returns the offset of the last character of valid text, which must not be empty.
std::size_t last_character_begin(std::string_view text);

// Returns the offset of the first byte that belongs to no whole character, if there is one.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

// Throws JobError "what: byte N is not UTF-8" for the first such byte.
void check_utf8(std::string_view text, std::string_view what);

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

std::string to_utf8(std::uint32_t code_point);

// Whether a character has the Unicode property White_Space.
bool is_white_space(std::uint32_t code_point);

}  // namespace voltpile::llm
