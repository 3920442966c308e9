#include "cluster/supervisor/power_ramp.h"

#include <algorithm>

namespace voltpile {
namespace {

constexpr double kStep_w = 60;
constexpr double kLongestStep_s = 2;

std::optional<double> watts(const GpuSnapshot& gpu) {
    return gpu.power_instant_w ? gpu.power_instant_w : gpu.power_w;
}

// Returns how many GPUs draw much more in `later` than in `earlier`.
int ramped(const NodeSample& earlier, const NodeSample& later) {
    int count = 0;
    for (const GpuSnapshot& gpu : later.gpus.gpus) {
        const GpuSnapshot* before = earlier.gpus.find(gpu.bus_id);
        if (!before || !watts(*before) || !watts(gpu)) continue;
        if (*watts(gpu) - *watts(*before) >= kStep_w) ++count;
    }
    return count;
}

}  // namespace

std::optional<PowerRamp> last_ramp(const std::deque<NodeSample>& samples, double until_s) {
    const auto took_part = [&](std::size_t earlier, std::size_t later) {
        const int gpus = ramped(samples[earlier], samples[later]);
        const int all = static_cast<int>(samples[later].gpus.gpus.size());
        return gpus >= std::max(2, (all + 1) / 2) ? gpus : 0;
    };
    for (std::size_t later = samples.size(); later-- > 1;) {
        if (samples[later].time_s > until_s) continue;
        for (std::size_t earlier = later; earlier-- > 0;) {
            if (samples[later].time_s - samples[earlier].time_s > kLongestStep_s) break;
            if (!took_part(earlier, later)) continue;
            std::size_t first = earlier + 1;  // the moment, not the end of the interval
            while (!took_part(earlier, first)) ++first;
            return PowerRamp{samples[first].time_s, took_part(earlier, first)};
        }
    }
    return std::nullopt;
}

}  // namespace voltpile
