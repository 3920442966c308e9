// Launches the GPU kernels of one integrator.
#pragma once

#include <type_traits>

#include "sweep/gpu_launch.cuh"
#include "threebody/adaptive_gpu.cuh"
#include "threebody/fixed_step_gpu.cuh"
#include "threebody/gpu_kernel.h"
#include "threebody/method_info.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

static_assert(sizeof(RawOutcome) <= bytes_of_raw_outcome && sizeof(AdaptiveEnd) <= bytes_of_raw_outcome);

template <class Integrator, class Real, bool same_forces, bool closest>
void launch_fixed_steps(const Problem& problem, const Problem* on_gpu, const GpuRange& range,
                        int multiprocessors, const Stream& stream) {
    constexpr GpuThreads most = Integrator::info.threads;
    constexpr int threads = sizeof(Real) == 4    ? most.fp32
                            : sizeof(Real) == 16 ? most.double_double
                            : same_forces        ? most.fp64
                                                 : most.fp64_own_forces;
    FixedStepCommon<Real> common;
    set_step_constants(parameters_in<typename ValueOf<Real>::type>(problem, range.begin), common.forces,
                       Assign<Real>{});
    common.limit_squared = static_cast<Real>(problem.separation * problem.separation);
    launch_lanes<FixedStepLane<Integrator, Real, same_forces, closest>, threads>(
        Integrator::info.name, on_gpu, common, range, multiprocessors, stream);
    if (range.raw == nullptr) return;
    using Completed = std::conditional_t<sizeof(Real) == 16, double, Real>;  // what RawOutcome holds of it
    launch("completion of outcomes", complete_outcomes<Integrator, Completed>, one_thread_each(range), stream,
           on_gpu, range);
}

template <class Integrator, class Real>
void launch_fixed_steps(const Problem& problem, const Problem* on_gpu, const GpuRange& range,
                        int multiprocessors, const Stream& stream) {
    const auto launch =
        problem.same_forces
            ? (problem.want_closest_approach ? launch_fixed_steps<Integrator, Real, true, true>
                                             : launch_fixed_steps<Integrator, Real, true, false>)
            : (problem.want_closest_approach ? launch_fixed_steps<Integrator, Real, false, true>
                                             : launch_fixed_steps<Integrator, Real, false, false>);
    launch(problem, on_gpu, range, multiprocessors, stream);
}

template <class Integrator, class Real, bool same_constants, bool watched>
void launch_adaptive(const Problem& problem, const Problem* on_gpu, const GpuRange& range,
                     int multiprocessors, const Stream& stream) {
    constexpr GpuThreads most = Integrator::info.threads;
    // Constants of their own lie in shared memory, in double-double twice as many bytes.
    constexpr int in_double_double = same_constants ? most.double_double : most.double_double / 2;
    constexpr int threads = sizeof(Real) == 16 ? in_double_double
                            : same_constants   ? most.fp64
                                               : most.fp64_own_forces;
    AdaptiveCommon<Real> common;
    set_pair_constants(parameters_in<typename ValueOf<Real>::type>(problem, range.begin), common.pair,
                       Assign<Real>{});
    common.demands = demands_of(problem);
    common.ends = reinterpret_cast<AdaptiveEnd*>(range.raw);
    launch_lanes<AdaptiveLane<Integrator, Real, same_constants, watched>, threads>(
        Integrator::info.name, on_gpu, common, range, multiprocessors, stream);
    launch("completion of outcomes", complete_adaptive_outcomes<Integrator>, one_thread_each(range), stream,
           on_gpu, range);
}

// The constants of a pair are the same for all points.
inline bool same_constants(const Problem& problem) {
    const ParameterSet<ParameterSource>& sources = problem.sources;
    return problem.same_forces && !varies(sources.steps) && !varies(sources.twin_shift[0]) &&
           !varies(sources.twin_shift[1]) && !varies(sources.twin_shift[2]);
}

template <class Integrator>
void launch_adaptive(const Problem& problem, const Problem* on_gpu, const GpuRange& range,
                     int multiprocessors, const Stream& stream) {
    const bool watched = watches(watch_demands(problem));
    const auto launch = same_constants(problem)
                            ? (watched ? launch_adaptive<Integrator, double, true, true>
                                       : launch_adaptive<Integrator, double, true, false>)
                            : (watched ? launch_adaptive<Integrator, double, false, true>
                                       : launch_adaptive<Integrator, double, false, false>);
    launch(problem, on_gpu, range, multiprocessors, stream);
}

template <class Integrator>
void launch_with(const Problem& problem, const Problem* on_gpu, const GpuRange& range, int multiprocessors,
                 const Stream& stream) {
    if constexpr (Integrator::info.adaptive) {
        launch_adaptive<Integrator>(problem, on_gpu, range, multiprocessors, stream);
    } else if (problem.single_precision) {
        launch_fixed_steps<Integrator, float>(problem, on_gpu, range, multiprocessors, stream);
    } else {
        launch_fixed_steps<Integrator, double>(problem, on_gpu, range, multiprocessors, stream);
    }
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
