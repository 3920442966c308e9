#include "llm/chat/jinja/literals.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "llm/tokenizer/utf8.h"

namespace voltpile::llm::jinja {

namespace {

bool is_decimal(char c) {
    return c >= '0' && c <= '9';
}

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

int digit_of(char c) {
    if (is_decimal(c)) return c - '0';
    if (c >= 'a' && c <= 'z') return c - 'a' + 10;
    if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
    return 99;
}

// Returns the length of digits with single underscores between them.
std::size_t digits_length(std::string_view text, int base) {
    std::size_t length = 0;
    while (length < text.size()) {
        const bool joined = text[length] == '_' && length > 0;
        const std::size_t at = length + (joined ? 1 : 0);
        if (at >= text.size() || digit_of(text[at]) >= base) break;
        length = at + 1;
    }
    return length;
}

std::string without_underscores(std::string_view text) {
    std::string result(text);
    std::erase(result, '_');
    return result;
}

// Returns the length of ".5", "e7" or ".5e-7".
std::size_t fraction_length(std::string_view text) {
    std::size_t length = 0;
    if (text.size() > 1 && text[0] == '.' && is_decimal(text[1]))
        length = 1 + digits_length(text.substr(1), 10);
    if (length < text.size() && (text[length] == 'e' || text[length] == 'E')) {
        std::size_t at = length + 1;
        if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
        if (at < text.size() && is_decimal(text[at])) length = at + digits_length(text.substr(at), 10);
    }
    return length;
}

// Reads the hexadecimal digits of an escape.
std::optional<std::uint32_t> hexadecimal(std::string_view text, std::size_t at, std::size_t digits) {
    if (at + digits > text.size()) return std::nullopt;
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + digits, value, 16);
    if (error != std::errc() || end != text.data() + at + digits) return std::nullopt;
    return value;
}

}  // namespace

std::size_t name_length(std::string_view text) {
    if (text.empty() || !is_letter(text.front())) return 0;
    const auto end = std::ranges::find_if(text, [](char c) { return !is_letter(c) && !is_decimal(c); });
    return static_cast<std::size_t>(end - text.begin());
}

NumberLiteral number_literal(std::string_view text, bool after_dot) {
    NumberLiteral number;
    int base = 10;
    if (text.size() > 1 && text[0] == '0') {
        const char prefix = text[1];
        base = prefix == 'x' || prefix == 'X'   ? 16
               : prefix == 'o' || prefix == 'O' ? 8
               : prefix == 'b' || prefix == 'B' ? 2
                                                : 10;
    }
    const std::size_t prefix = base == 10 ? 0 : 2;
    number.bytes = prefix + digits_length(text.substr(prefix), base);
    const std::size_t fraction = base == 10 && !after_dot ? fraction_length(text.substr(number.bytes)) : 0;
    number.bytes += fraction;
    const std::string digits = without_underscores(text.substr(prefix, number.bytes - prefix));
    const char* const end = digits.data() + digits.size();
    number.is_integer = fraction == 0;
    const auto result = number.is_integer ? std::from_chars(digits.data(), end, number.integer, base)
                                          : std::from_chars(digits.data(), end, number.real);
    number.out_of_range = result.ec != std::errc() || result.ptr != end;
    if (number.out_of_range && !number.is_integer &&
        result.ptr == end) {  // Python rounds to infinity and to 0
        number.out_of_range = false;
        number.real = digits.find('-') == std::string::npos ? std::numeric_limits<double>::infinity() : 0;
    }
    return number;
}

std::string unescaped(std::string_view text, std::string& problem) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            result += text[i];
            continue;
        }
        constexpr std::string_view kLetters = "nrtbfav\\'\"\n", kMeanings = "\n\r\t\b\f\a\v\\'\"";
        const char c = text[++i];
        const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
        if (digits > 0) {
            const auto point = hexadecimal(text, i + 1, digits);
            const bool surrogate = point && *point >= 0xD800 && *point <= 0xDFFF;
            if (!point || surrogate || *point > 0x10FFFF) {
                problem = "invalid escape \\" + std::string(1, c) + " in a text";
                return {};
            }
            result += to_utf8(*point);
            i += digits;
        } else if (c >= '0' && c <= '7') {
            const std::size_t length = std::min<std::size_t>(digits_length(text.substr(i, 3), 8), 3);
            std::uint32_t value = 0;
            std::from_chars(text.data() + i, text.data() + i + length, value, 8);
            result += to_utf8(value);
            i += length - 1;
        } else if (const std::size_t known = kLetters.find(c); known != std::string_view::npos) {
            if (known < kMeanings.size()) result += kMeanings[known];  // an escaped line break disappears
        } else {
            result.append(1, '\\').append(1, c);
        }
    }
    return result;
}

}  // namespace voltpile::llm::jinja
