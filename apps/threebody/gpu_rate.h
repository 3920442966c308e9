// Measures how fast a GPU computes the published map.
#pragma once

#include <cstdint>

#include "device/device.h"
#include "device/stream.h"
#include "threebody/problem.h"

namespace voltpile::threebody {

struct GpuSweepTime {
    double seconds = 0;  // the best of several runs
    double pair_steps = 0;
    double rate() const { return pair_steps / seconds; }
};

// Computes the first `points` points on the current GPU, with the field steps_together alone. Throws
// DeviceError.
GpuSweepTime time_gpu_sweep(const Problem& problem, std::uint32_t points, const DeviceInfo& info,
                            const Stream& stream);

// Returns pair-steps per second of the current GPU, over the published map with this method. Throws
// DeviceError.
double measure_gpu_rate(Method method, bool single_precision, const DeviceInfo& info);

}  // namespace voltpile::threebody
