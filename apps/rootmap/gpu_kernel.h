// The interface of the GPU kernels.
#pragma once

#include <cstddef>

#include "device/stream.h"
#include "rootmap/problem.h"
#include "sweep/gpu_range.h"

namespace voltpile::rootmap {

// Enough for MapPoint, which only CUDA sources see; gpu_kernel.cuh checks it.
inline constexpr std::size_t bytes_of_point = 64;
inline constexpr std::size_t bytes_of_double_double_point = 128;

// Returns the bytes of GpuRange::raw that a point needs.
inline std::size_t raw_bytes_per_point(Precision precision) {
    return precision == Precision::DoubleDouble ? bytes_of_double_double_point : bytes_of_point;
}

// Each enqueues the whole range in one precision. problem: what it points to is in GPU memory. on_gpu: the
// same problem there. multiprocessors: of the current GPU. Throws DeviceError if a launch fails. Each is
// defined in a file of its own, so that they compile in parallel.
void launch_fp64(const Problem& problem, const Problem* on_gpu, const GpuRange& range, int multiprocessors,
                 const Stream& stream);
void launch_fp32(const Problem& problem, const Problem* on_gpu, const GpuRange& range, int multiprocessors,
                 const Stream& stream);
void launch_double_double(const Problem& problem, const Problem* on_gpu, const GpuRange& range,
                          int multiprocessors, const Stream& stream);
void launch_perturbation(const Problem& problem, const Problem* on_gpu, const GpuRange& range,
                         int multiprocessors, const Stream& stream);

}  // namespace voltpile::rootmap
