// The CPU kernel: chooses the code for a problem. Compiled once for each CpuLevel.
#pragma once

#include "sweep/cpu_lanes.h"
#include "sweep/simd_inverse_cube.h"
#include "threebody/adaptive_cpu.h"
#include "threebody/cpu_targets.h"
#include "threebody/fixed_step_cpu.h"
#include "threebody/integrators/all.h"
#include "threebody/problem.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

// Internal to each level's object: the linker must not see any of these symbols.
namespace {

template <class Lanes>
__attribute__((noinline)) void sweep_lanes(const Problem& problem, PointStream& stream) {
    Lanes lanes(problem);
    run_lanes(lanes, stream);
}

template <class Integrator>
void sweep_with(const Problem& problem, PointStream& stream) {
    [[maybe_unused]] const bool closest = problem.want_closest_approach;
    if constexpr (Integrator::info.adaptive) {
        watches(watch_demands(problem))
            ? sweep_lanes<AdaptiveLanes<Integrator, Simd<double>, true>>(problem, stream)
            : sweep_lanes<AdaptiveLanes<Integrator, Simd<double>, false>>(problem, stream);
    } else if (problem.single_precision) {
        closest ? sweep_lanes<FixedStepLanes<Integrator, Simd<float>, true>>(problem, stream)
                : sweep_lanes<FixedStepLanes<Integrator, Simd<float>, false>>(problem, stream);
    } else {
        closest ? sweep_lanes<FixedStepLanes<Integrator, Simd<double>, true>>(problem, stream)
                : sweep_lanes<FixedStepLanes<Integrator, Simd<double>, false>>(problem, stream);
    }
}

void sweep(const Problem& problem, PointStream& stream) {
    if (problem.double_double) return compiled_cpu_double_double<simd_level>(problem, stream);
    switch (problem.method) {
#define VOLTPILE_SWEEP_WITH(Integrator, file) \
    case Method::Integrator:                  \
        return sweep_with<Integrator>(problem, stream);
        VOLTPILE_THREEBODY_METHODS(VOLTPILE_SWEEP_WITH)
#undef VOLTPILE_SWEEP_WITH
    }
}

}  // namespace

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
