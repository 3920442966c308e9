#include "plot/axis_ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plot/ticks.h"

namespace voltpile {
namespace {

constexpr int most_ticks = 10;

bool have_room(const std::vector<PlacedTick>& ticks, Direction direction, int em_pixels) {
    const bool across = direction == Direction::Right;
    for (std::size_t i = 1; i < ticks.size(); ++i) {
        const TextImage &a = ticks[i - 1].label, &b = ticks[i].label;
        const int need = across ? (a.width + b.width) / 2 + em_pixels : std::max(a.height, b.height);
        if (std::abs(ticks[i].at - ticks[i - 1].at) < need) return false;
    }
    return true;
}

// Returns the most ticks of make(most) that have room; to_pixel(value) places each.
template <class Make, class ToPixel>
std::vector<PlacedTick> fitting(Direction direction, int em_pixels, Make make, ToPixel to_pixel) {
    std::vector<PlacedTick> placed;
    for (int most = most_ticks; most > 0; --most) {
        placed.clear();
        for (const Tick& tick : make(most))
            placed.push_back({to_pixel(tick.value), render_text(tick.label, em_pixels)});
        if (have_room(placed, direction, em_pixels)) break;
    }
    return placed;
}

// The values of equally many greater and smaller ones.
std::vector<Tick> quantile_ticks(const std::vector<double>& ranked, int most) {
    std::vector<Tick> ticks;
    for (int i = 0; i < most; ++i) {
        const std::size_t at = (ranked.size() - 1) * static_cast<std::size_t>(i) /
                               static_cast<std::size_t>(std::max(1, most - 1));
        if (ticks.empty() || ranked[at] != ticks.back().value)
            ticks.push_back({ranked[at], fmt::format("{:.4g}", ranked[at])});
    }
    return ticks;
}

std::vector<Tick> value_ticks(const PlotLabels& labels, const ColorScale& scale, int most) {
    if (scale.period > 0) return linear_ticks(0, scale.period, most);
    if (scale.map != ColorMap::Classes && scale.scaling == Scaling::Logarithmic)
        return decade_ticks(scale.min, scale.max, most);
    if (scale.map != ColorMap::Classes && scale.scaling == Scaling::Equalized)
        return quantile_ticks(scale.ranked, most);
    return linear_ticks(scale.min, scale.max, most, labels.whole ? 1 : 0);
}

TextImage number(double value, int em_pixels) {
    return render_text(fmt::format("{:g}", value), em_pixels);
}

}  // namespace

std::vector<PlacedTick> axis_ticks(const PlotAxis& axis, Direction direction, std::int64_t pixels,
                                   int em_pixels) {
    const auto count = static_cast<double>(axis.count);
    const double step = axis.count > 1 ? (axis.last - axis.first) / (count - 1) : 0;
    if (step == 0 || !std::isfinite(step)) return {{pixels / 2, number(axis.first, em_pixels)}};
    const double scale = static_cast<double>(pixels) / count;
    const auto value = [&](double pixel) { return axis.first + step * ((pixel + 0.5) / scale - 0.5); };
    const auto to_pixel = [&](double at) {
        const double pixel = std::floor(((at - axis.first) / step + 0.5) * scale + 1e-6);
        return std::clamp<std::int64_t>(static_cast<std::int64_t>(pixel), -1, pixels);
    };
    const auto make = [&](int most) {
        // Ticks are no finer than the points.
        return linear_ticks(value(-1), value(static_cast<double>(pixels)), most, std::abs(step) * (1 - 1e-9));
    };
    std::vector<PlacedTick> ticks;
    if (axis.count <= most_ticks) {  // one tick per point, if there is room
        for (double i = 0; i < count; ++i) {
            const double at = axis.first + i * step;
            ticks.push_back({to_pixel(at), number(at, em_pixels)});
        }
        if (have_room(ticks, direction, em_pixels)) return ticks;
    }
    ticks = fitting(direction, em_pixels, make, to_pixel);
    if (ticks.empty()) ticks.push_back({to_pixel(axis.first), number(axis.first, em_pixels)});
    return ticks;
}

std::vector<PlacedTick> bar_ticks(const PlotLabels& labels, const ColorScale& scale, std::int64_t pixels,
                                  int em_pixels) {
    if (!scale.any_value()) return {};
    const auto make = [&](int most) {
        std::vector<Tick> ticks = value_ticks(labels, scale, most);
        if (ticks.empty()) ticks.push_back({scale.min, fmt::format("{:g}", scale.min)});
        for (Tick& tick : ticks)
            if (tick.value >= 0 && tick.value < static_cast<double>(labels.words.size()))
                tick.label = labels.words[static_cast<std::size_t>(tick.value)];
        return ticks;
    };
    const bool constant = scale.min == scale.max && scale.period == 0;
    const auto to_pixel = [&](double value) {
        const double position = constant           ? 0.5
                                : scale.period > 0 ? value / scale.period
                                                   : scale.position(value);
        return std::clamp<std::int64_t>(
            static_cast<std::int64_t>((1 - position) * static_cast<double>(pixels) + 1e-6), 0, pixels - 1);
    };
    return fitting(Direction::Down, em_pixels, make, to_pixel);
}

}  // namespace voltpile
