// The interface of the GPU kernels.
#pragma once

#include <cstddef>

#include "device/stream.h"
#include "sweep/gpu_range.h"
#include "threebody/problem.h"

namespace voltpile::threebody {

// Enough for RawOutcome and AdaptiveEnd, which only CUDA sources see; gpu_kernel.cuh checks it.
inline constexpr std::size_t bytes_of_raw_outcome = 26 * sizeof(double);

// Returns the bytes of GpuRange::raw that a point needs. adaptive: whether the method is.
inline std::size_t raw_bytes_per_point(const Problem& problem, bool adaptive) {
    return problem.want_state || problem.want_closest_approach || adaptive ? bytes_of_raw_outcome : 0;
}

// Enqueues the whole range with the integrator of the given method. on_gpu: the same problem in GPU memory.
// multiprocessors: of the current GPU. Throws DeviceError if a launch fails. Each integrator is defined in a
// file of its own, made from gpu_kernel.cu.in, so that they compile in parallel.
template <Method method>
void launch_sweep(const Problem& problem, const Problem* on_gpu, const GpuRange& range, int multiprocessors,
                  const Stream& stream);

#define VOLTPILE_DECLARE_LAUNCH(Integrator, file)                                               \
    template <>                                                                                 \
    void launch_sweep<Method::Integrator>(const Problem&, const Problem*, const GpuRange&, int, \
                                          const Stream&);
VOLTPILE_THREEBODY_METHODS(VOLTPILE_DECLARE_LAUNCH)
#undef VOLTPILE_DECLARE_LAUNCH

// The same for problems in double-double, with a method that computes in it.
void launch_sweep_in_double_double(const Problem& problem, const Problem* on_gpu, const GpuRange& range,
                                   int multiprocessors, const Stream& stream);

}  // namespace voltpile::threebody
