// The CPU kernel of problems in double-double. Compiled once for each level of instruction sets
// (voltpile_cpu_kernels), apart from cpu_kernel.cpp: its loops over coordinates stay loops, because unrolled
// ones take far longer to compile. Nothing else belongs in this file: see base/simd.h.
#define VOLTPILE_UNROLL

#include "nbody/adaptive_lanes.h"
#include "nbody/cpu_targets.h"
#include "nbody/fixed_step_lanes.h"
#include "sweep/cpu_lanes.h"
#include "sweep/double_double_inverse_cube.h"
#include "sweep/simd_double_double.h"

namespace voltpile::nbody {
namespace {

using Real = DoubleDouble<Simd<double>>;

template <class Lanes>
__attribute__((noinline)) void sweep_lanes_in_double_double(const Problem& problem, PointStream& stream) {
    Lanes lanes(problem);
    run_lanes(lanes, stream);
}

template <int bodies>
void sweep_in_double_double(const Problem& problem, PointStream& stream) {
    if constexpr (bodies < kMostBodies) {
        if (problem.bodies > bodies) return sweep_in_double_double<bodies + 1>(problem, stream);
    }
    if (problem.method == Method::RungeKuttaNystrom8)
        return sweep_lanes_in_double_double<AdaptiveLanes<Nystrom8, Real, bodies>>(problem, stream);
    sweep_lanes_in_double_double<FixedStepLanes<Real, bodies>>(problem, stream);
}

}  // namespace

template <>
void compiled_cpu_double_double<simd_level>(const Problem& problem, PointStream& stream) {
    sweep_in_double_double<kFewestBodies>(problem, stream);
}

}  // namespace voltpile::nbody
