// The GPU kernels in double-double, of all integrators that compute in it. A pair and its stages do not fit
// into registers: loops over bodies and coordinates stay loops, so that arrays lie in memory, nothing is
// spilled and the code stays small. A namespace of their own keeps them apart from unrolled kernels.
#define VOLTPILE_TARGET rolled
#if defined(__CUDA_ARCH__)
#define VOLTPILE_UNROLL _Pragma("unroll 1")
#else
#define VOLTPILE_UNROLL
#endif

#include "threebody/double_double_inverse_cube.h"
#include "threebody/gpu_kernel.cuh"
#include "threebody/integrators/all.h"

namespace voltpile::threebody {

template <class Integrator>
void launch_with_double_double(const Problem& problem, const Problem* on_gpu, const GpuRange& range,
                               int multiprocessors, const Stream& stream) {
    using Real = DoubleDouble<double>;
    if constexpr (!Integrator::info.double_double) {
        return;
    } else if constexpr (Integrator::info.adaptive) {
        const auto launch = same_constants(problem) ? launch_adaptive<Integrator, Real, true, false>
                                                    : launch_adaptive<Integrator, Real, false, false>;
        launch(problem, on_gpu, range, multiprocessors, stream);
    } else {
        const auto launch = problem.same_forces ? launch_fixed_steps<Integrator, Real, true, true>
                                                : launch_fixed_steps<Integrator, Real, false, true>;
        launch(problem, on_gpu, range, multiprocessors, stream);
    }
}

void launch_sweep_in_double_double(const Problem& problem, const Problem* on_gpu, const GpuRange& range,
                                   int multiprocessors, const Stream& stream) {
    switch (problem.method) {
#define VOLTPILE_LAUNCH(Integrator, file) \
    case Method::Integrator:              \
        return launch_with_double_double<Integrator>(problem, on_gpu, range, multiprocessors, stream);
        VOLTPILE_THREEBODY_METHODS(VOLTPILE_LAUNCH)
#undef VOLTPILE_LAUNCH
    }
}

}  // namespace voltpile::threebody
