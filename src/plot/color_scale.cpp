#include "plot/color_scale.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "job/nearest.h"

namespace voltpile {
namespace {

DeepColor deep(Rgb color) {
    const auto wide = [](std::uint8_t byte) { return static_cast<std::uint16_t>(257 * byte); };
    return {wide(color.red), wide(color.green), wide(color.blue)};
}

// Histogram equalization: (values <= value, less those that equal the least) of (all, less the same).
double rank_position(const std::vector<double>& ranked, double value) {
    const auto not_greater = [&](double x) {
        return static_cast<double>(std::ranges::upper_bound(ranked, x) - ranked.begin());
    };
    const double least = not_greater(ranked.front()), all = static_cast<double>(ranked.size());
    return all > least ? std::max(0.0, (not_greater(value) - least) / (all - least)) : 0;
}

}  // namespace

const std::vector<std::string>& scaling_names() {
    static const std::vector<std::string> names{"linear", "log", "equalized"};
    return names;
}

Scaling scaling_named(const std::string& name, const std::string& option) {
    if (name.empty()) return Scaling::Automatic;
    const std::vector<std::string>& names = scaling_names();
    const auto found = std::ranges::find(names, name);
    if (found == names.end())
        throw JobError(fmt::format("{} {}: there is no such scaling{}; there are {}", option, name,
                                   did_you_mean(nearest_word(name, names)), fmt::join(names, ", ")));
    return static_cast<Scaling>(found - names.begin() + static_cast<int>(Scaling::Linear));
}

void ColorScale::include(double value) {
    ++points;
    if (!std::isfinite(value)) {
        ++without;
    } else if (!shows(value)) {
        ++unshowable;
    } else {
        min = std::min(min, value);
        max = std::max(max, value);
    }
}

bool ColorScale::shows(double value) const {
    return std::isfinite(value) && (scaling != Scaling::Logarithmic || least_below || value > 0);
}

double ColorScale::position(double value) const {
    if (period > 0) {
        const double turn = std::fmod(value, period) / period;
        return turn < 0 ? turn + 1 : turn;
    }
    if (map == ColorMap::Classes) return (std::round(value) - min + 0.5) / (max - min + 1);
    if (!(max > min)) return 0;
    if (scaling == Scaling::Logarithmic)
        return value < min ? 0 : (std::log(value) - std::log(min)) / (std::log(max) - std::log(min));
    if (scaling == Scaling::Equalized) return rank_position(ranked, value);
    return (value / 2 - min / 2) / (max / 2 - min / 2);  // a difference may exceed a double
}

Rgb ColorScale::color(double value) const {
    if (!shows(value)) return missing_color(map);
    if (map == ColorMap::Classes) return class_color(std::llround(value));
    return map_color(map, position(value));
}

DeepColor ColorScale::deep_color(double value) const {
    if (!shows(value) || map == ColorMap::Classes) return deep(color(value));
    return smooth_map_color(map, position(value));
}

Rgb ColorScale::at(double position) const {
    if (map == ColorMap::Classes)
        return class_color(std::llround(min + std::floor(position * (max - min + 1))));
    return map_color(map, max > min || period > 0 ? position : 0);
}

}  // namespace voltpile
