// Launches the kernels of one method.
#pragma once

#include "nbody/gpu_kernel.h"
#include "nbody/methods.h"
#include "sweep/gpu_launch.cuh"

namespace voltpile::nbody {
inline namespace VOLTPILE_TARGET {

template <class Lane, int threads>
void launch_points(const Problem& problem, const Problem* on_gpu, const typename Lane::Common& common,
                   const GpuRange& range, int multiprocessors, const Stream& stream) {
    launch_lanes<Lane, threads>(info(problem.method).name, on_gpu, common, range, multiprocessors, stream);
    launch_completion(on_gpu, range, stream);
}

// Whether paths are watched, by kernels of their own.
inline bool watches(const Problem& problem) {
    return problem.want_closest || problem.escape_distance > 0;
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::nbody
