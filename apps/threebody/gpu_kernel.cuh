// The GPU kernel. Each lane integrates one pair of systems with all of its state in registers, and starts the
// next pair as soon as one is decided. A pair accesses no memory between its start and its decision.
#pragma once

#include <cuda_runtime.h>

#include "device/launch.cuh"
#include "threebody/gpu_lane.cuh"
#include "threebody/gpu_packing.cuh"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

// One block per multiprocessor, so that pairs can be packed over all of its warps. common: used if
// same_forces; otherwise every lane has its own constants. limit_squared: the squared limit of the
// separation.
template <class Integrator, class Real, bool same_forces, bool closest, int threads>
__global__ __launch_bounds__(threads, 1) void sweep_kernel(const Problem* problem,
                                                           const StepConstants<Real> common,
                                                           const Real limit_squared, const GpuRange range) {
    constexpr unsigned steps_between_packings = 1024;
    __shared__ PackingSpace<Real, threads> space;
    __shared__ Parameters parameters[threads / 32];
    if (threadIdx.x < threads / 32) space.active[threadIdx.x] = 0;
    __syncthreads();

    Lane<Real> lane;
    StepConstants<Real> constants = common;
    make_idle(lane);
    lane.left = 0;  // requests a point at once
    bool exhausted = false;
    for (unsigned steps_done = 0;;) {
        const bool decided = lane.left <= 0 || !together(lane.first, lane.twin, limit_squared);
        if (__any_sync(full_warp, decided)) {
            if (decided && lane.point != no_point) {
                if (closest) {
                    lane.closest_squared =
                        smaller(smallest_squared_distance(lane.first.x), lane.closest_squared);
                }
                store<Real, closest>(lane, space.steps[threadIdx.x], range);
            }
            std::uint32_t point = no_point;
            if (!exhausted) {
                point = draw(decided, range);
                exhausted = __any_sync(full_warp, decided && point == no_point);
            }
            if (decided) make_idle(lane);
            const bool starts = point != no_point;
            if (starts) lane.point = point;
            set_up<Real, same_forces>(starts, lane, problem, range.begin, parameters[threadIdx.x / 32],
                                      space.steps[threadIdx.x], constants);
            if (starts) {
                Integrator::start(lane.first, constants);
                Integrator::start(lane.twin, constants);
            }
            if (!__any_sync(full_warp, lane.point != no_point)) break;
            continue;
        }
        if (steps_done % steps_between_packings == steps_between_packings - 1) {
            // Every warp of the block notices the end of the points here, at its next visit at the latest.
            const std::uint32_t next = *static_cast<volatile std::uint32_t*>(&range.counters->next);
            if (__shfl_sync(full_warp, next, 0) >= range.points) {
                exhausted = true;
                if (!pack_lanes<same_forces>(lane, constants, space)) return;
            }
        }
        if (closest) {
            lane.closest_squared = smaller(smallest_squared_distance(lane.first.x), lane.closest_squared);
        }
        Integrator::step(lane.first, constants);
        Integrator::step(lane.twin, constants);
        --lane.left;
        ++steps_done;
    }
    leave_packing(space);
}

// Completes the outcomes, one thread per point: velocities at the time of the positions, energy, square
// roots.
template <class Integrator, class Real>
__global__ void complete_outcomes(const Problem* problem, const GpuRange range) {
    const std::uint32_t point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= range.points) return;
    if (range.closest_approach != nullptr) {
        range.closest_approach[point] = square_root(range.closest_approach[point]);
    }
    if (range.raw_state == nullptr) return;
    const Parameters parameters = parameters_at(*problem, range.begin + point);
    StepConstants<Real> constants;
    set_step_constants(parameters, constants, Assign<Real>{});
    System<Real> s;
    const double* raw = range.raw_state + 18 * static_cast<std::size_t>(point);
    for (int i = 0; i < 9; ++i) {
        s.x[i / 3][i % 3] = static_cast<Real>(raw[i]);
        s.p[i / 3][i % 3] = static_cast<Real>(raw[9 + i]);
    }
    Integrator::synchronize(s, constants);
    const System<double> state = to_double(s);
    if (range.energy_error != nullptr) range.energy_error[point] = energy_error<Real>(parameters, state);
    if (range.final_state == nullptr) return;
    double* out = range.final_state + 18 * static_cast<std::size_t>(point);
    for (int i = 0; i < 3; ++i) {
        for (int c = 0; c < 3; ++c) {
            out[6 * i + c] = state.x[i][c];
            out[6 * i + 3 + c] = state.p[i][c] / parameters.mass[i];
        }
    }
}

// Returns the threads per block: as many as the registers per lane allow with one block per multiprocessor.
template <class Integrator, class Real, bool same_forces>
constexpr int block_threads() {
    if (sizeof(Real) == 4) return 640;
    if (Integrator::order == 4 && Integrator::force_evaluations == 4) return 256;
    return same_forces ? 512 : 384;
}

template <class Integrator, class Real, bool same_forces, bool closest>
void launch_kernel(const char* name, const Problem& problem, const Problem* on_gpu, const GpuRange& range,
                   int multiprocessors, const Stream& stream) {
    constexpr int threads = block_threads<Integrator, Real, same_forces>();
    StepConstants<Real> common;
    set_step_constants(parameters_at(problem, range.begin), common, Assign<Real>{});
    // Warps take 32 points at a time, so that a small range spreads over all multiprocessors.
    const std::int64_t warps = (static_cast<std::int64_t>(range.points) + 31) / 32;
    LaunchShape shape;
    shape.blocks = min(max(static_cast<int>(warps), 1), multiprocessors);
    shape.threads = threads;
    launch(name, sweep_kernel<Integrator, Real, same_forces, closest, threads>, shape, stream, on_gpu, common,
           static_cast<Real>(problem.separation * problem.separation), range);
    if (range.closest_approach != nullptr || range.raw_state != nullptr) {
        shape.threads = 128;
        shape.blocks = max(1, static_cast<int>((static_cast<std::int64_t>(range.points) + shape.threads - 1) /
                                               shape.threads));
        launch(name, complete_outcomes<Integrator, Real>, shape, stream, on_gpu, range);
    }
}

template <class Integrator, class Real, bool same_forces>
void launch_kernel(const char* name, const Problem& problem, const Problem* on_gpu, const GpuRange& range,
                   int multiprocessors, const Stream& stream) {
    if (problem.want_closest_approach) {
        launch_kernel<Integrator, Real, same_forces, true>(name, problem, on_gpu, range, multiprocessors,
                                                           stream);
    } else {
        launch_kernel<Integrator, Real, same_forces, false>(name, problem, on_gpu, range, multiprocessors,
                                                            stream);
    }
}

template <class Integrator, class Real>
void launch_kernel(const char* name, const Problem& problem, const Problem* on_gpu, const GpuRange& range,
                   int multiprocessors, const Stream& stream) {
    if (problem.same_forces) {
        launch_kernel<Integrator, Real, true>(name, problem, on_gpu, range, multiprocessors, stream);
    } else {
        launch_kernel<Integrator, Real, false>(name, problem, on_gpu, range, multiprocessors, stream);
    }
}

template <class Integrator>
void launch_kernel(const char* name, const Problem& problem, const Problem* on_gpu, const GpuRange& range,
                   int multiprocessors, const Stream& stream) {
    if (problem.single_precision) {
        launch_kernel<Integrator, float>(name, problem, on_gpu, range, multiprocessors, stream);
    } else {
        launch_kernel<Integrator, double>(name, problem, on_gpu, range, multiprocessors, stream);
    }
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
