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

bool is_one_line(std::string_view text) {
    constexpr unsigned char space = 0x20, del = 0x7F, latin_lead = 0xC2, latin_controls_end = 0xA0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto code = static_cast<unsigned char>(text[i]);
        if (code < space || code == del) return false;
        if (code == latin_lead && i + 1 < text.size() &&
            static_cast<unsigned char>(text[i + 1]) < latin_controls_end)
            return false;
    }
    return std::ranges::none_of(
        kInvisible, [&](std::string_view each) { return text.find(each) != std::string_view::npos; });
}

}  // namespace voltpile
