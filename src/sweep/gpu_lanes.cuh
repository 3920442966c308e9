// The kernel of every sweep on a GPU. Each lane, or each group of a few neighbors, computes one point with
// all of its state in registers, and starts the next one as soon as that is decided. Lanes whose points need
// many more steps than their neighbors' therefore never wait for them.
#pragma once

#include "sweep/gpu_packing.cuh"
#include "sweep/gpu_range.h"

namespace voltpile {
inline namespace VOLTPILE_TARGET {

// A point takes Lane::lanes_per_point(common) neighboring lanes of a warp, in groups from lane 0 on; without
// that function one lane.
template <class Lane>
concept SharesPoints = requires(const typename Lane::Common& common) {
    Lane::lanes_per_point(common);
};

template <class Lane>
VOLTPILE_HD int lanes_per_point(const typename Lane::Common& common) {
    if constexpr (SharesPoints<Lane>) {
        return Lane::lanes_per_point(common);
    } else {
        return 1;
    }
}

// Returns the next point to every lane that requests one (`asks`), or no_point if there is none. All lanes of
// the warp call it.
__device__ __forceinline__ std::uint32_t draw_point(bool asks, const GpuRange& range) {
    const unsigned asking = __ballot_sync(full_warp, asks);
    const unsigned lane = threadIdx.x % 32;
    std::uint32_t base = 0;
    if (lane == 0) base = atomicAdd(&range.counters->next, static_cast<std::uint32_t>(__popc(asking)));
    base = __shfl_sync(full_warp, base, 0);
    const std::uint32_t point = base + static_cast<std::uint32_t>(__popc(asking & ((1U << lane) - 1)));
    return asks && point < range.points ? point : no_point;
}

// Adds the steps of a warp that ends. All of its lanes call it.
template <class Lane>
__device__ __forceinline__ void count_steps(unsigned steps, const GpuRange& range) {
    if constexpr (Lane::counts_steps) {
        if (threadIdx.x % 32 == 0) atomicAdd(&range.counters->lane_steps, 32ULL * steps);
    }
}

// The same to groups of lanes; all lanes of a group ask together.
template <class Lane>
__device__ __forceinline__ std::uint32_t draw_point(bool asks, const typename Lane::Common& common,
                                                    const GpuRange& range) {
    if constexpr (SharesPoints<Lane>) {
        const int size = Lane::lanes_per_point(common), lane = static_cast<int>(threadIdx.x) % 32;
        const int first = lane - lane % size;
        const std::uint32_t point = draw_point(asks && lane == first && first + size <= 32, range);
        return __shfl_sync(full_warp, point, first);
    } else {
        return draw_point(asks, range);
    }
}

constexpr unsigned steps_between_rests = 128;  // at most; a power of 2

// Waits while this block has to rest. The blocks rest one after another, so that the GPU's power stays even.
// All lanes of the warp call it.
__device__ __forceinline__ void rest(const std::uint32_t* rest_ns) {
    const unsigned phase = blockIdx.x * (GpuRange::rest_period_ns / gridDim.x);
    for (;;) {
        unsigned now = 0;
        asm volatile("mov.u32 %0, %%globaltimer_lo;" : "=r"(now));
        const unsigned resting = *static_cast<const volatile std::uint32_t*>(rest_ns);
        if (!__any_sync(full_warp, ((now + phase) & (GpuRange::rest_period_ns - 1)) < resting)) return;
        __nanosleep(200'000);
    }
}

// One block per multiprocessor, so that points can be packed over all of its warps.
//
// Lane, the app's problem on a GPU, holds the state of one point in registers and has these members:
//   Problem, Common                 plain data: in GPU memory, and constants passed to the kernel
//   Shared<threads>                 what lanes keep in the block's shared memory
//   Number                          what most of its registers hold
//   numbers_at_once                 most of them that move() passes at a time
//   counts_steps                    whether its kernel adds to range.counters->lane_steps
//   steps_between_packings          a power of 2: the steps until warps look for the end of the points
//   std::uint32_t point             index in the range; no_point: idle
//   Lane(common)
//   idle()                          no point, and a state that step() keeps finite and undecided
//   request()                       makes decided() true
//   begin(mine, problem, common, range, shared)   starts the lanes with `mine`, each at its `point`; all
//   lanes
//                                   of the warp call it
//   decided(common, shared)         whether the point needs no more steps
//   finish(range, shared)           stores the outcome and adds its work to range.counters->units
//   step(common, shared)            advances the point, or nothing if there is none
//   move(move, shared)              passes all state of the point to the functions of a PackingMove
// and, where several lanes share a point,
//   int lanes_per_point(common)     static; every member above that is about a point does the same in all of
//                                   its lanes
template <class Lane, int threads>
__global__ __launch_bounds__(threads, 1) void sweep_kernel(const typename Lane::Problem* problem,
                                                           const typename Lane::Common common,
                                                           const GpuRange range) {
    __shared__ PackingSpace<typename Lane::Number, Lane::numbers_at_once, threads> space;
    __shared__ typename Lane::template Shared<threads> shared;
    if (threadIdx.x < threads / 32) space.active[threadIdx.x] = 0;
    __syncthreads();

    Lane lane(common);
    lane.idle();
    lane.request();
    bool exhausted = false;
    const int in_use = 32 / lanes_per_point<Lane>(common) * lanes_per_point<Lane>(common);
    const bool takes_points = static_cast<int>(threadIdx.x) % 32 < in_use;
    constexpr unsigned between_rests = Lane::steps_between_packings < steps_between_rests
                                           ? Lane::steps_between_packings
                                           : steps_between_rests;
    for (unsigned steps_done = 0;;) {
        const bool decided = lane.decided(common, shared);
        if (__any_sync(full_warp, decided)) {
            if (decided && lane.point != no_point) lane.finish(range, shared);
            std::uint32_t point = no_point;
            if (!exhausted) {
                point = draw_point<Lane>(decided, common, range);
                exhausted = __any_sync(full_warp, decided && takes_points && point == no_point);
            }
            if (decided) lane.idle();
            const bool starts = point != no_point;
            if (starts) lane.point = point;
            lane.begin(starts, problem, common, range, shared);
            if (!__any_sync(full_warp, lane.point != no_point)) {
                count_steps<Lane>(steps_done, range);
                break;
            }
            continue;
        }
        if (steps_done % between_rests == between_rests - 1) {
            if (threadIdx.x % 32 == 0)
                *static_cast<volatile std::uint32_t*>(&range.counters->beat) = steps_done;
            if (range.rest_ns) rest(range.rest_ns);
            if (steps_done % Lane::steps_between_packings == Lane::steps_between_packings - 1) {
                // Every warp of the block notices the end of the points here, at its next visit at the
                // latest.
                const std::uint32_t next = *static_cast<volatile std::uint32_t*>(&range.counters->next);
                if (__shfl_sync(full_warp, next, 0) >= range.points) {
                    exhausted = true;
                    if (!pack_lanes<threads>(lane, in_use, space, shared)) {
                        count_steps<Lane>(steps_done, range);
                        return;
                    }
                }
            }
        }
        lane.step(common, shared);
        ++steps_done;
    }
    leave_packing(space);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
