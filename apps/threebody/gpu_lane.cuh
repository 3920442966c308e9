// Starts, ends and idles a lane's pair of systems.
#pragma once

#include "threebody/diagnostics.h"
#include "threebody/gpu_kernel.h"
#include "threebody/parameters.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

constexpr unsigned full_warp = ~0U;
constexpr std::uint32_t no_point = ~0U;

// Returns true if the twins are no farther apart than the limit; false if the distance is NaN.
template <class Real>
__device__ __forceinline__ bool together(const System<Real>& first, const System<Real>& twin,
                                         Real limit_squared) {
    return squared_length(first.x[0][0] - twin.x[0][0], first.x[0][1] - twin.x[0][1],
                          first.x[0][2] - twin.x[0][2]) <= limit_squared;
}

template <class Real>
struct Lane {
    System<Real> first, twin;
    std::uint32_t point;  // index in the range; no_point: idle
    std::int32_t left;    // remaining steps; shared memory holds the total, because registers are scarce
    Real closest_squared;
};

// Sets bodies at rest and far from each other: both systems stay equal and finite while the warp's other
// lanes run.
template <class Real>
__device__ __forceinline__ void make_idle(Lane<Real>& lane) {
    VOLTPILE_UNROLL
    for (int i = 0; i < 3; ++i) {
        VOLTPILE_UNROLL
        for (int c = 0; c < 3; ++c) {
            lane.first.x[i][c] = lane.twin.x[i][c] = static_cast<Real>(1e10 * i);
            lane.first.p[i][c] = lane.twin.p[i][c] = 0;
        }
    }
    lane.point = no_point;
    lane.left = 0x7fffffff;
    lane.closest_squared = 0;
}

// Returns the next point to every lane that requests one (`asks`), or no_point if there is none. All lanes of
// the warp call it.
__device__ __forceinline__ std::uint32_t draw(bool asks, const GpuRange& range) {
    const unsigned asking = __ballot_sync(full_warp, asks);
    const unsigned lane = threadIdx.x % 32;
    std::uint32_t base = 0;
    if (lane == 0) base = atomicAdd(&range.counters->next, static_cast<std::uint32_t>(__popc(asking)));
    base = __shfl_sync(full_warp, base, 0);
    const std::uint32_t point = base + static_cast<std::uint32_t>(__popc(asking & ((1U << lane) - 1)));
    return asks && point < range.points ? point : no_point;
}

// Sets up the lanes with `mine`, each at its lane.point, and sets `steps` to the pair's number of steps. The
// whole warp computes the parameters of a point, one per lane: that needs few registers, and the running
// pairs leave none to spare. All lanes of the warp call it.
template <class Real, bool same_forces>
__device__ __forceinline__ void set_up(bool mine, Lane<Real>& lane, const Problem* problem,
                                       std::int64_t begin, Parameters& shared, std::int32_t& steps,
                                       StepConstants<Real>& constants) {
    const unsigned me = threadIdx.x % 32;
    const auto* sources = reinterpret_cast<const ParameterSource*>(&problem->sources);
    for (unsigned waiting = __ballot_sync(full_warp, mine); waiting != 0; waiting &= waiting - 1) {
        const int served = __ffs(static_cast<int>(waiting)) - 1;
        const std::int64_t point = begin + __shfl_sync(full_warp, lane.point, served);
        if (me < parameter_count) reinterpret_cast<double*>(&shared)[me] = value_at(sources[me], point);
        __syncwarp();
        if (static_cast<int>(me) == served) {
            initial_pair(shared, lane.first, lane.twin);
            lane.left = steps = step_count(shared);
            lane.closest_squared = static_cast<Real>(__longlong_as_double(0x7ff0000000000000));  // infinity
            if (!same_forces) set_step_constants(shared, constants, Assign<Real>{});
        }
        __syncwarp();
    }
}

// Writes the outcome of the lane's decided pair; complete_outcomes computes the rest from raw_state
// afterwards.
template <class Real, bool closest>
__device__ __forceinline__ void store(const Lane<Real>& lane, std::int32_t steps, const GpuRange& range) {
    atomicAdd(&range.counters->pair_steps, static_cast<unsigned long long>(steps - lane.left));
    range.steps_together[lane.point] = steps - lane.left;
    if (closest) range.closest_approach[lane.point] = static_cast<double>(lane.closest_squared);
    if (range.raw_state == nullptr) return;
    double* out = range.raw_state + 18 * static_cast<std::size_t>(lane.point);
    VOLTPILE_UNROLL
    for (int i = 0; i < 9; ++i) {
        out[i] = static_cast<double>(lane.first.x[i / 3][i % 3]);
        out[9 + i] = static_cast<double>(lane.first.p[i / 3][i % 3]);
    }
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
