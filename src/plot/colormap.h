// Color maps: colors for positions between the least and the greatest value, and for classes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile {

struct Rgb {
    std::uint8_t red = 0;
    std::uint8_t green = 0;
    std::uint8_t blue = 0;
    friend bool operator==(const Rgb&, const Rgb&) = default;
};

enum class ColorMap {
    Inferno,   // black, red, yellow: that of the published pictures
    Viridis,   // blue, green, yellow
    Cividis,   // blue, gray, yellow: looks alike with and without red-green color blindness
    Twilight,  // ends as it begins: for angles
    Classes,   // one color per whole number
};

// Returns the names in the order of ColorMap: "inferno", ...
const std::vector<std::string>& color_map_names();
std::string_view name_of(ColorMap map);
// Throws JobError that names the option and suggests the nearest name.
ColorMap color_map_named(const std::string& name, std::string_view option);

// position: 0 (the least value) to 1, clamped; not NaN. Takes the entry of the table that matplotlib takes.
// map: not Classes.
Rgb map_color(ColorMap map, double position);

// Returns the color between two entries of the table, 0 to 65535 each: no two neighbors differ visibly.
std::array<std::uint16_t, 3> smooth_map_color(ColorMap map, double position);

// Returns the color of class 0, 1, ...: hues that are the golden angle apart, in three lightnesses, in the
// color space Oklab. Classes repeat only after thousands.
Rgb class_color(std::int64_t number);

// Returns the color of points without a value, which the map does not have.
Rgb missing_color(ColorMap map);

}  // namespace voltpile
