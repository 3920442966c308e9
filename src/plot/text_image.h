// Renders text as pixels in DejaVu Sans, which is built into the program. So pictures look alike on every
// machine, and no machine needs fonts.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace voltpile {

struct TextImage {
    int width = 0, height = 0;
    std::vector<std::uint8_t> coverage;  // [height][width] from the top: 0 no ink, 255 full ink

    std::uint8_t at(int x, int y) const { return coverage[static_cast<std::size_t>(y) * width + x]; }
};

// Renders one line of UTF-8 with em_pixels per em. The width is the sum of the advances, rounded up; the
// height depends only on em_pixels. Invalid UTF-8 appears as U+FFFD, a character that the font lacks as an
// empty box.
TextImage render_text(std::string_view utf8, int em_pixels);

// Turns the image by 90 degrees counterclockwise, so that it reads from the bottom up.
TextImage turned(const TextImage& image);

}  // namespace voltpile
