// Gathers a block's remaining points in as few warps as possible when there are no new points, so that the
// other warps end instead of occupying the FP64 units for a few lanes.
#pragma once

#include <cstdint>

#include "sweep/portable.h"

namespace voltpile {
inline namespace VOLTPILE_TARGET {

constexpr unsigned full_warp = ~0U;
constexpr std::uint32_t no_point = ~0U;

// Number: what most registers of a lane hold. most_numbers: moved at once. threads: of the block.
template <class Number_, int most_numbers_, int threads>
struct PackingSpace {
    using Number = Number_;
    static constexpr int most_numbers = most_numbers_;
    static constexpr int most_integers = 3;
    Number numbers[most_numbers][threads];
    int integers[most_integers][threads];
    int active[threads / 32];  // lanes with a point in each warp
};

// Moves points between the lanes of a block. All running warps of the block call its functions.
template <class Space, int threads>
struct PackingMove {
    using Number = typename Space::Number;
    static constexpr int most_numbers = Space::most_numbers;
    Space& space;
    int rank;       // the thread's point among the block's
    int slot;       // the thread's index within running warps: it receives the point of that rank
    bool active;    // has a point
    bool receives;  // receives a point

    // Moves `count` numbers of each point.
    template <int count>
    __device__ __forceinline__ void numbers(Number* values) const {
        static_assert(count <= Space::most_numbers);
        exchange<count>(values, space.numbers);
    }
    template <int count>
    __device__ __forceinline__ void integers(int* values) const {
        static_assert(count <= Space::most_integers);
        exchange<count>(values, space.integers);
    }

  private:
    template <int count, class T, int rows>
    __device__ __forceinline__ void exchange(T* values, T (&through)[rows][threads]) const {
        VOLTPILE_UNROLL
        for (int i = 0; i < count; ++i) {
            if (active) through[i][rank] = values[i];
        }
        __syncthreads();
        VOLTPILE_UNROLL
        for (int i = 0; i < count; ++i) {
            if (receives) values[i] = through[i][slot];
        }
        __syncthreads();
    }
};

// Returns false for a warp that has no point left, which then must end. All running warps of the block call
// it; a warp that ends by itself calls leave_packing. in_use: the first lanes of a warp, which can have
// points; a multiple of the lanes that share a point.
template <int threads, class Lane, class Space, class Shared>
__device__ __forceinline__ bool pack_lanes(Lane& lane, int in_use, Space& space, Shared& shared) {
    const bool active = lane.point != no_point;
    const unsigned mask = __ballot_sync(full_warp, active);
    const int warp = static_cast<int>(threadIdx.x) / 32;
    if (threadIdx.x % 32 == 0) space.active[warp] = __popc(mask);
    __syncthreads();
    int before = 0;
    int total = 0;
    int running = 0;  // number of warps; a warp without a point has ended
    int running_before = 0;
    VOLTPILE_UNROLL
    for (int w = 0; w < threads / 32; ++w) {
        before += w < warp ? space.active[w] : 0;
        total += space.active[w];
        running += space.active[w] > 0 ? 1 : 0;
        running_before += w < warp && space.active[w] > 0 ? 1 : 0;
    }
    __syncthreads();
    if (total > (running - 1) * in_use) return true;

    PackingMove<Space, threads> move{space};
    move.rank = before + __popc(mask & ((1U << threadIdx.x % 32) - 1));
    move.slot = in_use * running_before + static_cast<int>(threadIdx.x) % 32;
    move.active = active;
    move.receives = static_cast<int>(threadIdx.x) % 32 < in_use && move.slot < total;
    lane.move(move, shared);
    if (!move.receives) lane.idle();
    if (threadIdx.x % 32 == 0) space.active[warp] = 0;  // a warp that stays sets it again
    return in_use * running_before < total;
}

template <class Space>
__device__ __forceinline__ void leave_packing(Space& space) {
    if (threadIdx.x % 32 == 0) space.active[threadIdx.x / 32] = 0;
    __threadfence_block();  // must come before the others stop waiting for this warp
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
