// Text as pixels, in DejaVu Sans, which is part of the program: pictures look alike on every machine, and
// none needs fonts.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace voltpile {

struct TextImage {
    int width = 0, height = 0;
    std::vector<std::uint8_t> coverage;  // [height][width] from the top: 0 nothing, 255 all ink

    std::uint8_t at(int x, int y) const { return coverage[static_cast<std::size_t>(y) * width + x]; }
};

// One line of UTF-8, em_pixels to the em. The width is that of the advances, rounded up; the height depends
// on em_pixels alone. What is no UTF-8 is drawn as U+FFFD, what the font does not have as an empty box.
TextImage render_text(std::string_view utf8, int em_pixels);

// By a quarter, counter-clockwise: to be read from the bottom up.
TextImage turned(const TextImage& image);

}  // namespace voltpile
