#include "machine/power_meter.h"

#include <algorithm>
#include <numeric>

namespace voltpile {
namespace {

constexpr double kWindow_s = 0.3;
// Without a reading of this moment, power_w may be that or the mean of a second: after averaging over a
// second both are near enough.
constexpr double kLongWindow_s = 1;
constexpr double kJitter_s = 0.05;  // of the samples

}  // namespace

std::optional<PowerReading> PowerMeter::read(const NodeSample& sample) {
    const std::optional<double> watts = sample.gpus.power_w();
    if (!watts) return std::nullopt;
    const bool of_the_moment = std::ranges::all_of(
        sample.gpus.gpus, [](const GpuSnapshot& gpu) { return gpu.power_instant_w.has_value(); });
    const double window = of_the_moment ? kWindow_s : kLongWindow_s;
    const bool first = points_.empty();
    points_.push_back({sample.time_s, *watts});
    while (points_.front().time_s <= sample.time_s - window + kJitter_s) points_.pop_front();
    if (first) return std::nullopt;
    const double sum = std::accumulate(points_.begin(), points_.end(), 0.0,
                                       [](double all, const Point& each) { return all + each.watts; });
    return PowerReading{sample.time_s, sum / static_cast<double>(points_.size()), window};
}

}  // namespace voltpile
