#include "machine/power_meter.h"

#include <numeric>

namespace voltpile {
namespace {

// Counters rise in steps, some only every tenth of a second.
constexpr double kEnergyWindow_s = 0.3;
// Some GPUs report the mean power of a second, others that of a moment: after averaging over a second both
// are near enough.
constexpr double kPowerWindow_s = 1;

std::optional<double> sum_of(const NodeGpus& node, std::optional<double> GpuSnapshot::*number) {
    if (node.gpus.empty()) return std::nullopt;
    double sum = 0;
    for (const GpuSnapshot& gpu : node.gpus) {
        if (!(gpu.*number)) return std::nullopt;
        sum += *(gpu.*number);
    }
    return sum;
}

}  // namespace

std::optional<PowerReading> PowerMeter::read(const NodeSample& sample) {
    const std::optional<double> watts = sample.gpus.power_w();
    const std::optional<double> joules = sum_of(sample.gpus, &GpuSnapshot::energy_j);
    if (!watts) return std::nullopt;
    if (!joules) counts_ = false;
    points_.push_back({sample.time_s, joules.value_or(0), *watts});
    while (points_.front().time_s < sample.time_s - kPowerWindow_s) points_.pop_front();
    if (points_.size() < 2) return std::nullopt;
    if (counts_) {
        auto first = points_.end() - 2;
        while (first != points_.begin() && sample.time_s - first->time_s < kEnergyWindow_s - 0.01) --first;
        const double passed = sample.time_s - first->time_s;
        if (*joules > first->joules)
            return PowerReading{sample.time_s, (*joules - first->joules) / passed, passed};
        if (passed < kEnergyWindow_s) return std::nullopt;
        counts_ = false;  // it stands still
    }
    const double sum = std::accumulate(points_.begin(), points_.end(), 0.0,
                                       [](double all, const Point& each) { return all + each.watts; });
    return PowerReading{sample.time_s, sum / static_cast<double>(points_.size()), kPowerWindow_s};
}

}  // namespace voltpile
