// Letter case and printable characters, from Unicode's tables.
#include <fmt/format.h>
#include <utf8proc.h>

#include "llm/chat/jinja/python_text.h"
#include "llm/tokenizer/utf8.h"

namespace voltpile::llm::jinja {

namespace {

enum class LetterCase { Upper, Lower, Title };

std::string converted(std::string_view character, LetterCase to) {
    constexpr std::uint32_t kSharpS = 0xDF;  // the one common letter whose upper case is longer
    const std::uint32_t c = first_character(character).code_point;
    if (c == kSharpS && to != LetterCase::Lower) return to == LetterCase::Upper ? "SS" : "Ss";
    const auto point = static_cast<utf8proc_int32_t>(c);
    const utf8proc_int32_t changed = to == LetterCase::Upper   ? utf8proc_toupper(point)
                                     : to == LetterCase::Lower ? utf8proc_tolower(point)
                                                               : utf8proc_totitle(point);
    return to_utf8(static_cast<std::uint32_t>(changed));
}

std::string converted_all(std::string_view text, LetterCase to) {
    std::string result;
    for (const std::string_view character : characters(text)) result += converted(character, to);
    return result;
}

bool has_case(std::string_view character) {
    const auto c = static_cast<utf8proc_int32_t>(first_character(character).code_point);
    switch (utf8proc_category(c)) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LL:
        case UTF8PROC_CATEGORY_LT:
            return true;
        default:
            return false;
    }
}

bool all_in(std::string_view text, utf8proc_category_t wanted) {
    bool found = false;
    for (const std::string_view character : characters(text)) {
        if (!has_case(character)) continue;
        const auto c = static_cast<utf8proc_int32_t>(first_character(character).code_point);
        if (utf8proc_category(c) != wanted) return false;
        found = true;
    }
    return found;
}

bool is_printable(std::uint32_t c) {
    switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
        case UTF8PROC_CATEGORY_CN:
        case UTF8PROC_CATEGORY_CC:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_CS:
        case UTF8PROC_CATEGORY_CO:
        case UTF8PROC_CATEGORY_ZL:
        case UTF8PROC_CATEGORY_ZP:
            return false;
        case UTF8PROC_CATEGORY_ZS:
            return c == ' ';
        default:
            return true;
    }
}

std::string escape_of(std::uint32_t c) {
    switch (c) {
        case '\n':
            return "\\n";
        case '\r':
            return "\\r";
        case '\t':
            return "\\t";
        default:
            return c < 0x100     ? fmt::format("\\x{:02x}", c)
                   : c < 0x10000 ? fmt::format("\\u{:04x}", c)
                                 : fmt::format("\\U{:08x}", c);
    }
}

}  // namespace

std::string upper(std::string_view text) {
    return converted_all(text, LetterCase::Upper);
}

std::string lower(std::string_view text) {
    return converted_all(text, LetterCase::Lower);
}

std::string capitalized(std::string_view text) {
    if (text.empty()) return {};
    const std::size_t bytes = first_character(text).bytes;
    return converted(text.substr(0, bytes), LetterCase::Title) + lower(text.substr(bytes));
}

std::string titled(std::string_view text) {
    std::string result;
    bool inside = false;
    for (const std::string_view character : characters(text)) {
        result += converted(character, inside ? LetterCase::Lower : LetterCase::Title);
        inside = has_case(character);
    }
    return result;
}

bool is_upper(std::string_view text) {
    return all_in(text, UTF8PROC_CATEGORY_LU);
}

bool is_lower(std::string_view text) {
    return all_in(text, UTF8PROC_CATEGORY_LL);
}

std::string quoted(std::string_view text) {
    const bool doubled =
        text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
    const char quote = doubled ? '"' : '\'';
    std::string result(1, quote);
    for (const std::string_view character : characters(text)) {
        const std::uint32_t c = first_character(character).code_point;
        if (c == static_cast<std::uint32_t>(quote) || c == '\\')
            result.append(1, '\\').append(character);
        else if (is_printable(c))
            result.append(character);
        else
            result += escape_of(c);
    }
    return result + quote;
}

std::string escaped_html(std::string_view text) {
    std::string result;
    for (const char c : text) {
        switch (c) {
            case '&':
                result += "&amp;";
                break;
            case '<':
                result += "&lt;";
                break;
            case '>':
                result += "&gt;";
                break;
            case '\'':
                result += "&#39;";
                break;
            case '"':
                result += "&#34;";
                break;
            default:
                result += c;
        }
    }
    return result;
}

}  // namespace voltpile::llm::jinja
