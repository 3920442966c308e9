// Maps the values of a field to colors.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "plot/colormap.h"

namespace voltpile {

constexpr Rgb no_value{128, 128, 128};

struct ColorScale {
    double min = std::numeric_limits<double>::infinity();  // of the finite values; > max if there are none
    double max = -std::numeric_limits<double>::infinity();
    bool logarithmic = false;
    bool any_without = false;  // some are not finite, or not computed

    void include(double value) {
        if (!std::isfinite(value)) {
            any_without = true;
            return;
        }
        min = std::min(min, value);
        max = std::max(max, value);
    }

    // Returns 0 at min and 1 at max.
    double position(double value) const {
        if (!(max > min)) return 0;
        if (logarithmic) return (std::log(value) - std::log(min)) / (std::log(max) - std::log(min));
        return (value / 2 - min / 2) / (max / 2 - min / 2);  // a difference may exceed a double
    }

    Rgb color(double value) const { return std::isfinite(value) ? inferno(position(value)) : no_value; }
};

}  // namespace voltpile
