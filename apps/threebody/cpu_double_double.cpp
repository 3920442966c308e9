// The CPU kernel of problems in double-double. Compiled once for each level of instruction sets
// (voltpile_cpu_kernels), apart from cpu_kernel.cpp: its loops over coordinates stay loops, because unrolled
// ones take far longer to compile. Nothing else belongs in this file: see base/simd.h.
#define VOLTPILE_UNROLL

#include "sweep/cpu_lanes.h"
#include "sweep/simd_double_double.h"
#include "threebody/adaptive_cpu.h"
#include "threebody/cpu_targets.h"
#include "threebody/fixed_step_cpu.h"
#include "threebody/integrators/all.h"

namespace voltpile::threebody {
namespace {

template <class Integrator>
__attribute__((noinline)) void sweep_in_double_double(const Problem& problem, PointStream& stream) {
    using Real = DoubleDouble<Simd<double>>;
    if constexpr (!Integrator::info.double_double) {
        return;
    } else if constexpr (Integrator::info.adaptive) {
        AdaptiveLanes<Integrator, Real, false> lanes(problem);
        run_lanes(lanes, stream);
    } else {
        FixedStepLanes<Integrator, Real, true> lanes(problem);
        run_lanes(lanes, stream);
    }
}

}  // namespace

template <>
void compiled_cpu_double_double<simd_level>(const Problem& problem, PointStream& stream) {
    switch (problem.method) {
#define VOLTPILE_SWEEP_WITH(Integrator, file) \
    case Method::Integrator:                  \
        return sweep_in_double_double<Integrator>(problem, stream);
        VOLTPILE_THREEBODY_METHODS(VOLTPILE_SWEEP_WITH)
#undef VOLTPILE_SWEEP_WITH
    }
}

}  // namespace voltpile::threebody
