#include "base/one_line.h"

#include <algorithm>
#include <array>

namespace voltpile {
namespace {

// UTF-8 of U+200E, U+200F, U+2028 to U+202E and U+2066 to U+2069.
constexpr std::array<std::string_view, 13> kInvisible{
    "\xE2\x80\x8E", "\xE2\x80\x8F", "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAA",
    "\xE2\x80\xAB", "\xE2\x80\xAC", "\xE2\x80\xAD", "\xE2\x80\xAE", "\xE2\x81\xA6",
    "\xE2\x81\xA7", "\xE2\x81\xA8", "\xE2\x81\xA9"};

}  // namespace

std::size_t obeyed_bytes(std::string_view text, std::size_t at) {
    constexpr unsigned char space = 0x20, del = 0x7F, latin_lead = 0xC2;
    constexpr unsigned char latin_controls = 0x80, latin_controls_end = 0xA0;
    const auto code = static_cast<unsigned char>(text[at]);
    if (code < space || code == del) return 1;
    if (code == latin_lead && at + 1 < text.size()) {
        const auto next = static_cast<unsigned char>(text[at + 1]);
        if (next >= latin_controls && next < latin_controls_end) return 2;
    }
    const std::string_view rest = text.substr(at);
    return std::ranges::any_of(kInvisible, [&](std::string_view each) { return rest.starts_with(each); }) ? 3
                                                                                                          : 0;
}

bool is_one_line(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i)
        if (obeyed_bytes(text, i) > 0) return false;
    return true;
}

}  // namespace voltpile
