#include "plot/colormap.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "job/nearest.h"
#include "plot/color_tables.h"

namespace voltpile {
namespace {

Rgb unpacked(std::uint32_t color) {
    return {static_cast<std::uint8_t>(color >> 16), static_cast<std::uint8_t>(color >> 8 & 0xff),
            static_cast<std::uint8_t>(color & 0xff)};
}

std::uint8_t srgb_byte(double linear) {
    const double x = std::clamp(linear, 0.0, 1.0);
    const double encoded = x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1 / 2.4) - 0.055;
    return static_cast<std::uint8_t>(std::lround(255 * encoded));
}

// Converts Oklab to sRGB with the matrices that Bjorn Ottosson published and put into the public domain ("A
// perceptual color space for image processing", 2020).
Rgb oklab_color(double lightness, double a, double b) {
    const auto cube = [](double x) { return x * x * x; };
    const double l = cube(lightness + 0.3963377774 * a + 0.2158037573 * b);
    const double m = cube(lightness - 0.1055613458 * a - 0.0638541728 * b);
    const double s = cube(lightness - 0.0894841775 * a - 1.2914855480 * b);
    return {srgb_byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
            srgb_byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
            srgb_byte(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

}  // namespace

const std::vector<std::string>& color_map_names() {
    static const std::vector<std::string> names{"inferno", "viridis", "cividis", "twilight", "classes"};
    return names;
}

std::string_view name_of(ColorMap map) {
    return color_map_names()[static_cast<std::size_t>(map)];
}

ColorMap color_map_named(const std::string& name, std::string_view option) {
    const std::vector<std::string>& names = color_map_names();
    const auto found = std::ranges::find(names, name);
    if (found == names.end())
        throw JobError(fmt::format("{} {}: there is no such color map{}; there are {}", option, name,
                                   did_you_mean(nearest_word(name, names)), fmt::join(names, ", ")));
    return static_cast<ColorMap>(found - names.begin());
}

Rgb map_color(ColorMap map, double position) {
    const auto table = color_table(map);
    const auto size = static_cast<double>(table.size());
    return unpacked(table[static_cast<std::size_t>(std::clamp(position * size, 0.0, size - 1))]);
}

std::array<std::uint16_t, 3> smooth_map_color(ColorMap map, double position) {
    const auto table = color_table(map);
    const double index = std::clamp(position, 0.0, 1.0) * static_cast<double>(table.size() - 1);
    const auto before = static_cast<std::size_t>(index);
    const double part = index - static_cast<double>(before);
    const Rgb a = unpacked(table[before]), b = unpacked(table[std::min(before + 1, table.size() - 1)]);
    const auto mixed = [&](int from, int to) {
        return static_cast<std::uint16_t>(std::lround(257 * (from + part * (to - from))));
    };
    return {mixed(a.red, b.red), mixed(a.green, b.green), mixed(a.blue, b.blue)};
}

Rgb class_color(std::int64_t number) {
    constexpr std::array<double, 3> lightness{0.72, 0.54, 0.86}, chroma{0.145, 0.150, 0.105};
    constexpr double golden_turn = 0.381966011250105;  // 2 - golden ratio
    constexpr double first_hue = 0.07;                 // turns: orange
    const auto kind = static_cast<std::size_t>((number % 3 + 3) % 3);
    const double turn = std::fmod(first_hue + golden_turn * static_cast<double>(number), 1.0);
    const double angle = 2 * std::numbers::pi * turn;
    return oklab_color(lightness[kind], chroma[kind] * std::cos(angle), chroma[kind] * std::sin(angle));
}

Rgb missing_color(ColorMap map) {
    switch (map) {
        case ColorMap::Cividis:
            return {196, 40, 72};  // its middle is gray
        case ColorMap::Twilight:
            return {28, 150, 96};  // its ends are light gray
        default:
            return {128, 128, 128};
    }
}

}  // namespace voltpile
