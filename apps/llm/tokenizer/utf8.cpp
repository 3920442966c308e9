#include "llm/tokenizer/utf8.h"

#include <fmt/format.h>

#include "base/error.h"

namespace voltpile::llm {

namespace {

// The bytes that may follow a leading byte. The range of the second byte excludes overlong forms, surrogates
// and code points beyond U+10FFFF; later bytes are 80..BF.
struct Lead {
    std::size_t bytes;
    std::uint8_t second_min = 0x80;
    std::uint8_t second_max = 0xBF;
};

Lead lead_of(std::uint8_t byte) {
    if (byte < 0x80) return {1};
    if (byte < 0xC2) return {0};
    if (byte < 0xE0) return {2};
    if (byte == 0xE0) return {3, 0xA0};
    if (byte == 0xED) return {3, 0x80, 0x9F};
    if (byte < 0xF0) return {3};
    if (byte == 0xF0) return {4, 0x90};
    if (byte < 0xF4) return {4};
    if (byte == 0xF4) return {4, 0x80, 0x8F};
    return {0};
}

}  // namespace

Utf8Character first_character(std::string_view text) {
    const auto first = static_cast<std::uint8_t>(text.front());
    const Lead lead = lead_of(first);
    if (lead.bytes == 0) return {Utf8Status::IllFormed, 1, 0};
    if (lead.bytes == 1) return {Utf8Status::Whole, 1, first};
    std::uint32_t code_point = first & (0x7Fu >> lead.bytes);
    for (std::size_t i = 1; i < lead.bytes; ++i) {
        if (i == text.size()) return {Utf8Status::CutOff, i, 0};
        const auto byte = static_cast<std::uint8_t>(text[i]);
        const std::uint8_t min = i == 1 ? lead.second_min : 0x80;
        const std::uint8_t max = i == 1 ? lead.second_max : 0xBF;
        if (byte < min || byte > max) return {Utf8Status::IllFormed, i, 0};
        code_point = code_point << 6 | (byte & 0x3Fu);
    }
    return {Utf8Status::Whole, lead.bytes, code_point};
}

std::size_t last_character_begin(std::string_view text) {
    std::size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    return begin;
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
        const Utf8Character character = first_character(text.substr(i));
        if (character.status != Utf8Status::Whole) return i;
        i += character.bytes;
    }
    return std::nullopt;
}

void check_utf8(std::string_view text, std::string_view what) {
    if (const auto invalid = find_invalid_utf8(text))
        throw JobError(fmt::format("{}: byte {} is not UTF-8", what, *invalid));
}

std::string to_utf8(std::uint32_t code_point) {
    if (code_point < 0x80) return {static_cast<char>(code_point)};
    std::string text;
    const int shift = code_point < 0x800 ? 6 : code_point < 0x10000 ? 12 : 18;
    const std::uint32_t lead = shift == 6 ? 0xC0 : shift == 12 ? 0xE0 : 0xF0;
    text += static_cast<char>(lead | code_point >> shift);
    for (int s = shift - 6; s >= 0; s -= 6) text += static_cast<char>(0x80 | (code_point >> s & 0x3F));
    return text;
}

bool is_white_space(std::uint32_t c) {
    return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
           c == 0x3000;
}

}  // namespace voltpile::llm
