// Launches the kernels of sweeps.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "device/launch.cuh"
#include "sweep/gpu_lanes.cuh"

namespace voltpile {
inline namespace VOLTPILE_TARGET {

// Of a kernel with a thread for each point; the last ones of the last block have none.
inline LaunchShape one_thread_each(const GpuRange& range) {
    LaunchShape shape;
    shape.threads = 128;
    shape.blocks = std::max(1, static_cast<int>((static_cast<std::int64_t>(range.points) + 127) / 128));
    return shape;
}

// Enqueues the kernel over the range. name: for messages.
template <class Lane, int threads>
void launch_lanes(const char* name, const typename Lane::Problem* on_gpu, const typename Lane::Common& common,
                  const GpuRange& range, int multiprocessors, const Stream& stream) {
    // Warps take as many points at a time as they have lanes for, so that a small range spreads over all
    // multiprocessors.
    const int at_a_time = 32 / lanes_per_point<Lane>(common);
    const std::int64_t warps = (static_cast<std::int64_t>(range.points) + at_a_time - 1) / at_a_time;
    LaunchShape shape;
    shape.blocks = std::min(std::max(static_cast<int>(warps), 1), multiprocessors);
    shape.threads = threads;
    launch(name, sweep_kernel<Lane, threads>, shape, stream, on_gpu, common, range);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
