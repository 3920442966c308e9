#include "llm/tokenizer/byte_alphabet.h"

#include "llm/tokenizer/utf8.h"

namespace voltpile::llm {

namespace {

constexpr std::uint32_t kCodePoints = 256 + 68;

bool stands_for_itself(std::uint32_t byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

struct Alphabet {
    std::array<std::string, 256> characters;
    std::array<int, kCodePoints> bytes;  // by code point; -1: none

    Alphabet() {
        bytes.fill(-1);
        std::uint32_t next = 256;
        for (std::uint32_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t code_point = stands_for_itself(byte) ? byte : next++;
            characters[byte] = to_utf8(code_point);
            bytes[code_point] = static_cast<int>(byte);
        }
    }
};

const Alphabet& alphabet() {
    static const Alphabet instance;
    return instance;
}

}  // namespace

const std::array<std::string, 256>& byte_alphabet() {
    return alphabet().characters;
}

std::optional<std::string> bytes_from_alphabet(std::string_view text) {
    std::string bytes;
    while (!text.empty()) {
        const Utf8Character character = first_character(text);
        if (character.status != Utf8Status::Whole || character.code_point >= kCodePoints) return std::nullopt;
        const int byte = alphabet().bytes[character.code_point];
        if (byte < 0) return std::nullopt;
        bytes += static_cast<char>(byte);
        text.remove_prefix(character.bytes);
    }
    return bytes;
}

}  // namespace voltpile::llm
