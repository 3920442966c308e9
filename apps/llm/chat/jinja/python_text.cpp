#include "llm/chat/jinja/python_text.h"

#include <string.h>  // memmem

#include <algorithm>

#include "llm/tokenizer/utf8.h"

namespace voltpile::llm::jinja {

namespace {

bool is_stripped(std::string_view character, std::optional<std::string_view> which) {
    if (which) return which->find(character) != std::string_view::npos;
    return is_python_space(first_character(character).code_point);
}

std::string_view front_character(std::string_view text) {
    return text.substr(0, first_character(text).bytes);
}

bool is_line_end(std::uint32_t c) {
    return (c >= '\n' && c <= '\r') || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

std::vector<std::string_view> words(std::string_view text, std::int64_t most) {
    std::vector<std::string_view> parts;
    text = stripped_left(text);
    while (!text.empty()) {
        if (most >= 0 && std::ssize(parts) == most) {
            parts.push_back(text);
            break;
        }
        std::size_t end = 0;
        while (end < text.size()) {
            const Utf8Character c = first_character(text.substr(end));
            if (is_python_space(c.code_point)) break;
            end += c.bytes;
        }
        parts.push_back(text.substr(0, end));
        text = stripped_left(text.substr(end));
    }
    return parts;
}

std::vector<std::string_view> words_from_right(std::string_view text, std::int64_t most) {
    std::vector<std::string_view> parts;
    text = stripped_right(text);
    while (!text.empty()) {
        if (most >= 0 && std::ssize(parts) == most) {
            parts.push_back(text);
            break;
        }
        std::size_t begin = text.size();
        while (begin > 0) {
            const std::size_t before = last_character_begin(text.substr(0, begin));
            if (is_python_space(first_character(text.substr(before)).code_point)) break;
            begin = before;
        }
        parts.push_back(text.substr(begin));
        text = stripped_right(text.substr(0, begin));
    }
    std::ranges::reverse(parts);
    return parts;
}

}  // namespace

std::size_t character_count(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::vector<std::string_view> characters(std::string_view text) {
    std::vector<std::string_view> all;
    while (!text.empty()) {
        all.push_back(front_character(text));
        text.remove_prefix(all.back().size());
    }
    return all;
}

// Python counts the four ASCII separators as white space too.
bool is_python_space(std::uint32_t c) {
    return is_white_space(c) || (c >= 0x1C && c <= 0x1F);
}

std::string_view stripped_left(std::string_view text, std::optional<std::string_view> which) {
    while (!text.empty() && is_stripped(front_character(text), which))
        text.remove_prefix(front_character(text).size());
    return text;
}

std::string_view stripped_right(std::string_view text, std::optional<std::string_view> which) {
    while (!text.empty()) {
        const std::size_t begin = last_character_begin(text);
        if (!is_stripped(text.substr(begin), which)) break;
        text = text.substr(0, begin);
    }
    return text;
}

std::string_view stripped(std::string_view text, std::optional<std::string_view> which) {
    return stripped_right(stripped_left(text, which), which);
}

std::size_t find_text(std::string_view text, std::string_view part, std::size_t from) {
    if (from > text.size()) return std::string_view::npos;
    if (part.empty()) return from;
    const void* found = memmem(text.data() + from, text.size() - from, part.data(), part.size());
    if (!found) return std::string_view::npos;
    return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

std::vector<std::string_view> split(std::string_view text, std::optional<std::string_view> separator,
                                    std::int64_t most) {
    if (!separator) return words(text, most);
    std::vector<std::string_view> parts;
    std::size_t begin = 0;
    while (most < 0 || std::ssize(parts) < most) {
        const std::size_t at = find_text(text, *separator, begin);
        if (at == std::string_view::npos) break;
        parts.push_back(text.substr(begin, at - begin));
        begin = at + separator->size();
    }
    parts.push_back(text.substr(begin));
    return parts;
}

std::vector<std::string_view> split_from_right(std::string_view text,
                                               std::optional<std::string_view> separator, std::int64_t most) {
    if (!separator) return words_from_right(text, most);
    // Splits the reversed text, since only the search forward takes linear time.
    const std::string back(text.rbegin(), text.rend());
    const std::string back_separator(separator->rbegin(), separator->rend());
    std::vector<std::string_view> parts;
    std::size_t end = text.size();
    for (const std::string_view part : split(back, back_separator, most)) {
        parts.push_back(text.substr(end - part.size(), part.size()));
        end -= std::min(end, part.size() + separator->size());
    }
    std::ranges::reverse(parts);
    return parts;
}

std::vector<std::string_view> split_lines(std::string_view text) {
    std::vector<std::string_view> lines;
    std::size_t begin = 0, at = 0;
    while (at < text.size()) {
        const Utf8Character c = first_character(text.substr(at));
        if (!is_line_end(c.code_point)) {
            at += c.bytes;
            continue;
        }
        lines.push_back(text.substr(begin, at - begin));
        at += text.substr(at).starts_with("\r\n") ? 2 : c.bytes;
        begin = at;
    }
    if (begin < text.size()) lines.push_back(text.substr(begin));
    return lines;
}

}  // namespace voltpile::llm::jinja
