// Maps the values of a field to colors.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "plot/colormap.h"

namespace voltpile {

enum class Scaling {
    Automatic,  // until the values are known: linear or logarithmic
    Linear,
    Logarithmic,
    Equalized,  // equally many values for each color: the position is the share of values that are not
                // greater
};

// Returns linear, log and equalized.
const std::vector<std::string>& scaling_names();
// Throws JobError that names the option and suggests the nearest name. "": Automatic.
Scaling scaling_named(const std::string& name, const std::string& option);

// Colors from 0 to 65535.
using DeepColor = std::array<std::uint16_t, 3>;

struct ColorScale {
    ColorMap map = ColorMap::Inferno;
    Scaling scaling = Scaling::Linear;
    double min = std::numeric_limits<double>::infinity();  // of the values shown; > max if there are none
    double max = -std::numeric_limits<double>::infinity();
    // An angle: colors repeat with this period, from 0 on, and min and max do not matter. 0: none.
    double period = 0;
    bool least_below = false;     // Logarithmic: values below min have the color of min
    std::vector<double> ranked;   // Equalized: values in rising order, all or every nth
    std::int64_t points = 0;      // seen
    std::int64_t without = 0;     // of them not finite, or not computed
    std::int64_t unshowable = 0;  // of them finite, but not positive on a logarithmic scale

    // Widens min and max, and counts.
    void include(double value);

    // Whether the value has a color. Others have missing_color(map).
    bool shows(double value) const;

    // Returns 0 at the least value and 1 at the greatest. value: one that the scale shows.
    double position(double value) const;

    Rgb color(double value) const;
    DeepColor deep_color(double value) const;  // between the entries of the table
    Rgb at(double position) const;             // of the color bar

    bool any_missing() const { return without + unshowable > 0; }
    bool any_value() const { return max >= min; }
};

}  // namespace voltpile
