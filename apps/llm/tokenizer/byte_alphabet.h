// The 256 printable characters that stand for bytes in the vocabularies of byte-level BPE, as in GPT-2: the
// printable characters of Latin-1 stand for themselves, the other 68 bytes for U+0100 and up, in order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace voltpile::llm {

// Returns the character of each byte, in UTF-8.
const std::array<std::string, 256>& byte_alphabet();

// Returns the bytes that `text` stands for; nothing if it has a character outside the alphabet.
std::optional<std::string> bytes_from_alphabet(std::string_view text);

}  // namespace voltpile::llm
