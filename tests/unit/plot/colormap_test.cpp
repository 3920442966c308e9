// Tests color maps against matplotlib and Oklab's definition: color_maps.py prints the expected colors.
#include "plot/colormap.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

constexpr std::array<double, 5> kPositions{0, 0.25, 0.5, 0.7, 1};

TEST(ColormapTables, MatchMatplotlib) {
    const std::pair<ColorMap, std::array<Rgb, 5>> expected[] = {
        {ColorMap::Inferno, {{{0, 0, 3}, {87, 15, 109}, {187, 55, 84}, {243, 119, 25}, {252, 254, 164}}}},
        {ColorMap::Viridis, {{{68, 1, 84}, {58, 82, 139}, {32, 144, 140}, {68, 190, 112}, {253, 231, 36}}}},
        {ColorMap::Cividis, {{{0, 34, 77}, {67, 78, 107}, {124, 123, 120}, {174, 162, 113}, {253, 231, 55}}}},
        {ColorMap::Twilight,
         {{{225, 216, 226}, {97, 117, 186}, {47, 20, 54}, {158, 59, 79}, {225, 216, 225}}}},
    };
    for (const auto& [map, colors] : expected)
        for (std::size_t i = 0; i < colors.size(); ++i)
            EXPECT_EQ(map_color(map, kPositions[i]), colors[i]) << name_of(map) << " " << kPositions[i];
}

TEST(ColormapClasses, FollowOklab) {
    const Rgb expected[] = {{242, 125, 117}, {0, 136, 84},  {220, 194, 255},
                            {214, 151, 24},  {0, 129, 165}, {255, 180, 215}};
    for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(class_color(i), expected[i]) << i;
}

TEST(ColormapClasses, AreEasilyToldApart) {
    for (std::int64_t a = -5; a < 15; ++a) {
        for (std::int64_t b = a + 1; b < 15; ++b) {
            const Rgb x = class_color(a), y = class_color(b);
            const int apart =
                std::abs(x.red - y.red) + std::abs(x.green - y.green) + std::abs(x.blue - y.blue);
            EXPECT_GT(apart, 24) << a << " and " << b;
        }
    }
}

// A missing point must not look like any value.
TEST(ColormapMissing, IsFarFromTheMap) {
    for (const ColorMap map : {ColorMap::Inferno, ColorMap::Viridis, ColorMap::Cividis, ColorMap::Twilight}) {
        const Rgb missing = missing_color(map);
        for (int i = 0; i <= 1000; ++i) {
            const Rgb color = map_color(map, i / 1000.0);
            const int apart = std::abs(color.red - missing.red) + std::abs(color.green - missing.green) +
                              std::abs(color.blue - missing.blue);
            ASSERT_GT(apart, 60) << name_of(map) << " " << i;
        }
    }
}

TEST(ColormapSmooth, RunsThroughTheTable) {
    const auto middle = smooth_map_color(ColorMap::Inferno, 0.5);  // halfway between entries 127 and 128
    EXPECT_EQ(middle[0], 257 * 186 + 129);
    EXPECT_EQ(middle[2], 257 * 84 + 128 + 1);
    EXPECT_EQ(smooth_map_color(ColorMap::Viridis, 1)[0], 257 * 253);
}

TEST(ColormapNames, SuggestTheNearest) {
    EXPECT_EQ(color_map_named("cividis", "--map"), ColorMap::Cividis);
    const auto [message, code] = test::error_of([] { color_map_named("virdis", "--map"); });
    EXPECT_EQ(code, ExitCode::BadInput);
    EXPECT_EQ(message,
              "--map virdis: there is no such color map; did you mean viridis?; there are inferno, viridis, "
              "cividis, twilight, classes");
}

}  // namespace
}  // namespace voltpile
