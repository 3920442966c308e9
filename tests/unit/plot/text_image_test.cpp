#include "plot/text_image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace voltpile {
namespace {

// The first and last row with ink.
std::pair<int, int> inked_rows(const TextImage& image) {
    int first = image.height, last = -1;
    for (int y = 0; y < image.height; ++y)
        for (int x = 0; x < image.width; ++x)
            if (image.at(x, y) > 127) first = std::min(first, y), last = y;
    return {first, last};
}

// Advances of DejaVu Sans 2.37 by its table "hmtx", in 1/2048 em: M 1767, i 569, 0 1303, mu 1303, two 821.
TEST(TextImage, HasTheFontsWidths) {
    for (const int em : {12, 14, 33}) {
        const auto pixels = [&](int units) {
            return static_cast<int>(std::ceil(units * em / 2048.0 - 1e-4));
        };
        EXPECT_EQ(render_text("M", em).width, pixels(1767));
        EXPECT_EQ(render_text("Mi0", em).width, pixels(1767 + 569 + 1303));
        EXPECT_EQ(render_text("\u00b5m\u00b2", em).width, pixels(1303 + 1995 + 821));
    }
    EXPECT_EQ(render_text("", 14).width, 0);
}

TEST(TextImage, PutsLettersOnOneBaseline) {
    const auto capital = inked_rows(render_text("E", 100)), small = inked_rows(render_text("x", 100));
    const auto low = inked_rows(render_text("p", 100));
    EXPECT_EQ(capital.second, small.second);
    // The font's heights of capitals and of x: 1493 and 1120 of 2048; a row at each end may be half inked.
    EXPECT_NEAR(capital.second - capital.first + 1, 72.9, 1);
    EXPECT_NEAR(small.second - small.first + 1, 54.7, 1);
    EXPECT_GT(low.second, capital.second + 10);
    EXPECT_LT(low.second, render_text("p", 100).height);
}

TEST(TextImage, DrawsInvalidUtf8) {
    EXPECT_EQ(render_text("a\xff", 20).coverage, render_text("a\ufffd", 20).coverage);
    EXPECT_GT(render_text("\u6f22", 20).width, 0);  // not in the font
}

TEST(TextImage, ReadsUpwardsWhenTurned) {
    const TextImage upright{3, 2, {1, 2, 3, 4, 5, 6}};
    const TextImage image = turned(upright);
    EXPECT_EQ(image.width, 2);
    EXPECT_EQ(image.height, 3);
    EXPECT_EQ(image.coverage, (std::vector<std::uint8_t>{3, 6, 2, 5, 1, 4}));
}

}  // namespace
}  // namespace voltpile
