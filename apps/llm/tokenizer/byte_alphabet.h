// The 256 printable characters by which byte-level BPE writes bytes in its vocabulary (introduced by GPT-2):
// printable characters of Latin-1 stand for themselves, the other 68 bytes are U+0100 and up, in order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace voltpile::llm {

// UTF-8 text of each byte's character.
const std::array<std::string, 256>& byte_alphabet();

// The bytes that `text` stands for; nothing if a character of it is not of the alphabet.
std::optional<std::string> bytes_from_alphabet(std::string_view text);

}  // namespace voltpile::llm
