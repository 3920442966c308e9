// The interface of the GPU kernels.
#pragma once

#include <cstddef>

#include "device/stream.h"
#include "nbody/problem.h"
#include "sweep/gpu_range.h"

namespace voltpile::nbody {

// Of PointEnd and BodyEnd, which only CUDA sources see; gpu_lane.cuh checks it.
inline constexpr std::size_t bytes_of_point_end = 4 * sizeof(double);
inline constexpr std::size_t bytes_of_body_end = 9 * sizeof(double);

inline namespace VOLTPILE_TARGET {

// Returns the bytes of GpuRange::raw that a point needs.
VOLTPILE_HD std::size_t raw_bytes_per_point(int bodies) {
    return bytes_of_point_end + static_cast<std::size_t>(bodies) * bytes_of_body_end;
}

}  // namespace VOLTPILE_TARGET

// Each enqueues the whole range with some of the methods. on_gpu: the problem in GPU memory, with all that it
// points to. multiprocessors: of the current GPU. Throws DeviceError if a launch fails. Each is defined in a
// file of its own, so that they compile in parallel.
void launch_fixed_steps(const Problem& problem, const Problem* on_gpu, const GpuRange& range,
                        int multiprocessors, const Stream& stream);
void launch_rkn8(const Problem& problem, const Problem* on_gpu, const GpuRange& range, int multiprocessors,
                 const Stream& stream);
void launch_gbs10(const Problem& problem, const Problem* on_gpu, const GpuRange& range, int multiprocessors,
                  const Stream& stream);

// Enqueues the computation of the requested fields, after one of the above.
void launch_completion(const Problem* on_gpu, const GpuRange& range, const Stream& stream);

}  // namespace voltpile::nbody
