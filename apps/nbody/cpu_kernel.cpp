// Chooses the code for a problem. Compiled once for each level of instruction sets (voltpile_cpu_kernels).
// Nothing else belongs in this file: see base/simd.h.
#include "nbody/adaptive_lanes.h"
#include "nbody/cpu_targets.h"
#include "nbody/fixed_step_lanes.h"
#include "sweep/cpu_lanes.h"
#include "sweep/simd_inverse_cube.h"
#include "sweep/simd_select.h"

namespace voltpile::nbody {
namespace {

template <class Lanes>
__attribute__((noinline)) void sweep_lanes(const Problem& problem, PointStream& stream) {
    Lanes lanes(problem);
    run_lanes(lanes, stream);
}

template <int bodies>
void sweep_bodies(const Problem& problem, PointStream& stream) {
    using Real = Simd<double>;
    switch (problem.method) {
        case Method::RungeKuttaNystrom8:
            return sweep_lanes<AdaptiveLanes<Nystrom8, Real, bodies>>(problem, stream);
        case Method::Extrapolation10:
            return sweep_lanes<AdaptiveLanes<ExtrapolatedStep, Real, bodies>>(problem, stream);
        default:
            return sweep_lanes<FixedStepLanes<Real, bodies>>(problem, stream);
    }
}

template <int bodies>
void sweep_from(const Problem& problem, PointStream& stream) {
    if (problem.bodies == bodies) return sweep_bodies<bodies>(problem, stream);
    if constexpr (bodies < kMostBodies) sweep_from<bodies + 1>(problem, stream);
}

void sweep(const Problem& problem, PointStream& stream) {
    if (problem.double_double) return compiled_cpu_double_double<simd_level>(problem, stream);
    if (problem.want_deviation) return compiled_cpu_deviation<simd_level>(problem, stream);
    if (has_twin(problem)) return compiled_cpu_twin<simd_level>(problem, stream);
    sweep_from<kFewestBodies>(problem, stream);
}

}  // namespace

template <>
CpuSweep compiled_cpu_sweep<simd_level>() {
    return sweep;
}

}  // namespace voltpile::nbody
