#include "llm/tokenizer/normalization.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

namespace voltpile::llm {

std::string to_nfc(std::string_view text) {
    if (std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; }))
        return std::string(text);
    utf8proc_uint8_t* composed = nullptr;
    const utf8proc_ssize_t bytes = utf8proc_map(
        reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
        &composed, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(composed, &std::free);
    if (bytes < 0) throw std::bad_alloc();  // valid text has no other error
    return {reinterpret_cast<const char*>(composed), static_cast<std::size_t>(bytes)};
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
    std::string result;
    for (std::size_t found; (found = text.find(from)) != std::string_view::npos;) {
        result.append(text.substr(0, found)).append(to);
        text.remove_prefix(found + from.size());
    }
    return result.append(text);
}

std::string with_space_marks(std::string_view text, SpacePrefix prefix) {
    const bool has_space = text.starts_with(' ') || text.starts_with(kSpaceMark);
    const bool add = prefix == SpacePrefix::Always || (prefix != SpacePrefix::Never && !has_space);
    std::string result = replace_all(text, " ", kSpaceMark);
    return add && !text.empty() ? std::string(kSpaceMark) + result : result;
}

}  // namespace voltpile::llm
