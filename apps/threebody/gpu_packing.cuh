// Gathers a block's remaining pairs in as few warps as possible when there are no new points, so that the
// other warps end instead of occupying the FP64 units for a few lanes.
#pragma once

#include "threebody/gpu_lane.cuh"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

// threads: number of threads of the block.
template <class Real, int threads>
struct PackingSpace {
    Real numbers[9][threads];
    int integers[3][threads];
    std::int32_t steps[threads];  // total steps of each lane's pair
    int active[threads / 32];     // lanes with a pair in each warp
};

struct Move {
    int rank;       // the thread's pair among the block's
    int slot;       // the thread's index within running warps: it receives the pair of that rank
    bool active;    // has a pair
    bool receives;  // receives a pair
};

// Moves `count` numbers of each pair. All running warps of the block call it.
template <int count, class T, int threads>
__device__ __forceinline__ void move_numbers(T* values, T (*space)[threads], const Move& move) {
    VOLTPILE_UNROLL
    for (int i = 0; i < count; ++i) {
        if (move.active) space[i][move.rank] = values[i];
    }
    __syncthreads();
    VOLTPILE_UNROLL
    for (int i = 0; i < count; ++i) {
        if (move.receives) values[i] = space[i][move.slot];
    }
    __syncthreads();
}

// Returns false for a warp that has no pair left, which then must end. All running warps of the block call
// it; a warp that ends by itself calls leave_packing.
template <bool same_forces, class Real, int threads>
__device__ __forceinline__ bool pack_lanes(Lane<Real>& lane, StepConstants<Real>& constants,
                                           PackingSpace<Real, threads>& space) {
    const bool active = lane.point != no_point;
    const unsigned mask = __ballot_sync(full_warp, active);
    const int warp = static_cast<int>(threadIdx.x) / 32;
    if (threadIdx.x % 32 == 0) space.active[warp] = __popc(mask);
    __syncthreads();
    int before = 0;
    int total = 0;
    int running = 0;  // number of warps; a warp without a pair has ended
    int running_before = 0;
    VOLTPILE_UNROLL
    for (int w = 0; w < threads / 32; ++w) {
        before += w < warp ? space.active[w] : 0;
        total += space.active[w];
        running += space.active[w] > 0 ? 1 : 0;
        running_before += w < warp && space.active[w] > 0 ? 1 : 0;
    }
    __syncthreads();
    if ((total + 31) / 32 >= running) return true;

    Move move;
    move.rank = before + __popc(mask & ((1U << threadIdx.x % 32) - 1));
    move.slot = 32 * running_before + static_cast<int>(threadIdx.x) % 32;
    move.active = active;
    move.receives = move.slot < total;
    move_numbers<9>(&lane.first.x[0][0], space.numbers, move);
    move_numbers<9>(&lane.first.p[0][0], space.numbers, move);
    move_numbers<9>(&lane.twin.x[0][0], space.numbers, move);
    move_numbers<9>(&lane.twin.p[0][0], space.numbers, move);
    move_numbers<1>(&lane.closest_squared, space.numbers, move);
    if (!same_forces) {
        move_numbers<3 * InverseCube<Real>::terms>(&constants.kick[0][0], space.numbers, move);
        move_numbers<3>(constants.drift, space.numbers, move);
    }
    int integers[3] = {static_cast<int>(lane.point), lane.left, space.steps[threadIdx.x]};
    move_numbers<3>(integers, space.integers, move);
    lane.point = static_cast<std::uint32_t>(integers[0]);
    lane.left = integers[1];
    space.steps[threadIdx.x] = integers[2];
    if (!move.receives) make_idle(lane);
    if (threadIdx.x % 32 == 0) space.active[warp] = 0;  // a warp that stays sets it again
    return 32 * running_before < total;
}

template <class Real, int threads>
__device__ __forceinline__ void leave_packing(PackingSpace<Real, threads>& space) {
    if (threadIdx.x % 32 == 0) space.active[threadIdx.x / 32] = 0;
    __threadfence_block();  // must come before the others stop waiting for this warp
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
