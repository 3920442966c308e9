#include "llm/grammar/pattern_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "llm/tokenizer/utf8.h"

namespace voltpile::llm {

PatternText::PatternText(std::string_view text, std::string_view what) : what_(what) {
    check_utf8(text, what);
    while (!text.empty()) {
        const Utf8Character next = first_character(text);
        characters_.push_back(next.code_point);
        text.remove_prefix(next.bytes);
    }
}

bool PatternText::take_if(std::string_view wanted) {
    for (std::size_t i = 0; i < wanted.size(); ++i)
        if (at_ + i >= characters_.size() || peek(i) != static_cast<unsigned char>(wanted[i])) return false;
    at_ += wanted.size();
    return true;
}

std::optional<int> PatternText::take_number(int most) {
    std::optional<int> number;
    while (!at_end() && peek() >= '0' && peek() <= '9') {
        number = number.value_or(0) * 10 + static_cast<int>(peek() - '0');
        if (*number > most) fail(fmt::format("the number is above {}", most));
        ++at_;
    }
    return number;
}

std::uint32_t PatternText::take_hex(int digits) {
    std::uint32_t value = 0;
    for (int i = 0; i < digits; ++i) {
        const std::uint32_t c = peek();
        const bool decimal = c >= '0' && c <= '9';
        const std::uint32_t letter = c | 0x20u;
        if (!decimal && (letter < 'a' || letter > 'f'))
            fail(fmt::format("expected {} hexadecimal digits", digits));
        value = value * 16 + (decimal ? c - '0' : letter - 'a' + 10);
        ++at_;
    }
    return value;
}

std::uint32_t PatternText::checked(std::uint32_t code_point) const {
    if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF))
        fail(fmt::format("U+{:04X} is not a character", code_point));
    return code_point;
}

void PatternText::fail(const std::string& problem) const {
    const auto begin = characters_.begin();
    const auto lines =
        std::count(begin, begin + static_cast<std::ptrdiff_t>(std::min(at_, characters_.size())), '\n');
    const bool one_line =
        std::ranges::find(characters_, static_cast<std::uint32_t>('\n')) == characters_.end();
    throw JobError(one_line ? fmt::format("{}: character {}: {}", what_, at_ + 1, problem)
                            : fmt::format("{}: line {}: {}", what_, lines + 1, problem));
}

std::string shown(std::uint32_t code_point) {
    return code_point > ' ' && code_point < 0x7F ? fmt::format("'{}'", static_cast<char>(code_point))
                                                 : fmt::format("U+{:04X}", code_point);
}

}  // namespace voltpile::llm
