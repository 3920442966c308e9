#include "llm/tokenizer/text_trim.h"

#include "llm/tokenizer/utf8.h"

namespace voltpile::llm {

namespace {

// Python also counts the four separators of ASCII.
bool is_python_space(std::uint32_t c) {
    return is_white_space(c) || (c >= 0x1C && c <= 0x1F);
}

}  // namespace

std::string_view trim_white_space(std::string_view text) {
    while (!text.empty()) {
        const Utf8Character first = first_character(text);
        if (!is_python_space(first.code_point)) break;
        text.remove_prefix(first.bytes);
    }
    while (!text.empty()) {
        const std::size_t begin = last_character_begin(text);
        if (!is_python_space(first_character(text.substr(begin)).code_point)) break;
        text = text.substr(0, begin);
    }
    return text;
}

std::string_view trim_newlines_before(std::string_view text) {
    while (text.starts_with('\n')) text.remove_prefix(1);
    return text;
}

std::string_view trim_newlines(std::string_view text) {
    text = trim_newlines_before(text);
    while (text.ends_with('\n')) text.remove_suffix(1);
    return text;
}

}  // namespace voltpile::llm
