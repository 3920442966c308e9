// Chooses the code for points with a companion. Only for sources that voltpile_cpu_kernels compiles.
#pragma once

#include "nbody/adaptive_lanes.h"
#include "nbody/fixed_step_lanes.h"
#include "sweep/cpu_lanes.h"
#include "sweep/simd_inverse_cube.h"
#include "sweep/simd_select.h"

namespace voltpile::nbody {
inline namespace VOLTPILE_TARGET {

// Internal to each level's object: the linker must not see any of these symbols.
namespace {

template <class Lanes>
__attribute__((noinline)) void sweep_lanes_with_companion(const Problem& problem, PointStream& stream) {
    Lanes lanes(problem);
    run_lanes(lanes, stream);
}

template <template <class, int> class Companion, int bodies = kFewestBodies>
void sweep_with_companion(const Problem& problem, PointStream& stream) {
    using Real = Simd<double>;
    if constexpr (bodies < kMostBodies) {
        if (problem.bodies > bodies) return sweep_with_companion<Companion, bodies + 1>(problem, stream);
    }
    switch (problem.method) {
        case Method::RungeKuttaNystrom8:
            return sweep_lanes_with_companion<AdaptiveLanes<Nystrom8, Real, bodies, Companion>>(problem,
                                                                                                stream);
        case Method::Extrapolation10:
            return sweep_lanes_with_companion<AdaptiveLanes<ExtrapolatedStep, Real, bodies, Companion>>(
                problem, stream);
        default:
            return sweep_lanes_with_companion<FixedStepLanes<Real, bodies, Companion>>(problem, stream);
    }
}

}  // namespace

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::nbody
