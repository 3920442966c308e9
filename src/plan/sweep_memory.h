// The memory that a rank of a sweep takes on its host and its GPU, known before the sweep starts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "plan/workload.h"

namespace voltpile {

// How a rank computes ranges on its GPU (sweep/gpu_range_runner).
inline constexpr int kGpuRangesInFlight = 2;
inline constexpr std::int64_t kLargestGpuPart = 1 << 22;  // points that a kernel computes at once
inline constexpr std::int64_t kMostPreparedBytes = std::int64_t{64} << 20;  // of results, of a range

// Returns the points for which each range in flight has memory on the GPU from the start. A longer range is
// computed in parts.
inline std::int64_t prepared_gpu_points(std::int64_t points, std::int64_t bytes_per_point) {
    return std::min(
        {points, kLargestGpuPart, kMostPreparedBytes / std::max<std::int64_t>(bytes_per_point, 1)});
}

// Memory of the program, MPI and HDF5 in a rank without results.
inline constexpr std::int64_t kProgramBytes = 64 << 20;
// Copies of a range's results: in flight, in the writer's queue and in HDF5's image of a part.
inline constexpr std::int64_t kResultCopies = 10;
// What a rank loads of CUDA.
enum class CudaUse { None, Libraries, Device };
// Libraries: on a host with GPUs that the program can use, whether or not this rank computes on one.
inline CudaUse cuda_use(bool on_gpu, bool host_has_gpus) {
    return on_gpu ? CudaUse::Device : host_has_gpus ? CudaUse::Libraries : CudaUse::None;
}
// What the libraries take of a process that computes on cores: 280 MB less the program (measured on the host
// of an H200).
inline constexpr std::int64_t kCudaLibrariesHostBytes = 210'000'000;
// What CUDA takes for its context and the kernels of a sweep: of the GPU's memory (measured on H200,
// docs/benchmarks.md; older GPUs, which have fewer multiprocessors, need less), and of the process.
inline constexpr std::int64_t kCudaSweepGpuBytes = 557'000'000;
inline constexpr std::int64_t kCudaSweepHostBytes = 300'000'000;

// Returns the host memory of a rank. range_points: of the rank's longest range. Results of a GPU pass
// through pinned memory.
std::int64_t sweep_host_bytes(const Workload& work, std::int64_t points, double range_points, CudaUse cuda);

// Returns the GPU memory of a rank: CUDA's, and the results and states of the ranges in flight.
std::int64_t sweep_gpu_bytes(const Workload& work, std::int64_t points);

}  // namespace voltpile
