// How a matrix product is shared out: tiles of weights, cut into steps of columns, and workers that have
// equal runs of all steps, one after the other. So all end together, whatever the matrix. The last
// worker to finish sums up a tile that several workers share, in the order of its columns; in wide products
// and those of integers each of them sums up a part (SharedTile).
#pragma once

#include "device/launch.cuh"
#include "llm/ops/cuda/half.cuh"
#include "llm/ops/cuda/mma.cuh"
#include "llm/ops/cuda/tiles.h"

namespace voltpile::llm {

// A tile has rows of one matrix from first_row on; a gated one as many of the gate and of up.
struct TilePlace {
    DeviceMatrix weights, up;
    int out_begin, first_row;
};
template <bool gated, int weights = tile_weights>
__device__ TilePlace place_of(const TileArgs& args, int tile) {
    const MatmulArgs& a = args.matmul;
    tile += args.begin;
    TilePlace place{a.matrix[0], a.matrix[1], a.out_begin[0], tile * (gated ? weights / 2 : weights)};
    // One by one: an index that is not known before would put all of them into local memory.
#pragma unroll
    for (int m = 1; m < 3; ++m) {
        if (gated || a.matrices <= m || tile < args.first_tile[m]) continue;
        place.weights = a.matrix[m];
        place.out_begin = a.out_begin[m];
        place.first_row = (tile - args.first_tile[m]) * weights;
    }
    return place;
}

// Of all steps, tile after tile: those of a worker, and whose a step is.
__device__ inline std::int64_t first_step(const TileArgs& args, int worker) {
    return static_cast<std::int64_t>(args.tiles) * args.steps * worker / args.matmul.workers;
}
__device__ inline int worker_of(const TileArgs& args, std::int64_t step) {
    const std::int64_t all = static_cast<std::int64_t>(args.tiles) * args.steps;
    return static_cast<int>(((step + 1) * args.matmul.workers - 1) / all);
}

// The sums of a worker and piece that are a part of a tile's: of the end of one, or of the beginning of
// another. (groups, 2) float4 for each of `threads` threads.
template <int groups, int threads>
__device__ float4* part_of(const TileArgs& args, int worker, int piece, bool beginning) {
    const std::int64_t index =
        (static_cast<std::int64_t>(worker) * args.pieces + piece) * 2 + (beginning ? 1 : 0);
    return reinterpret_cast<float4*>(args.matmul.scratch) + index * (groups * 2 * threads) + threadIdx.x;
}

// What other blocks wrote: past the L1 cache.
__device__ inline float4 written_elsewhere(const float4* from) {
    float4 v;
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(from)
                 : "memory");
    return v;
}

// After a worker has a part of a tile: true for the last of them, which then has the sum of all.
template <int groups>
__device__ __forceinline__ bool add_parts(const TileArgs& args, int tile, int worker, int piece,
                                          bool beginning, float (&sum)[groups][8]) {
    float4* mine = part_of<groups, tile_threads>(args, worker, piece, beginning);
#pragma unroll
    for (int n = 0; n < groups; ++n) {
#pragma unroll
        for (int h = 0; h < 2; ++h)
            mine[(2 * n + h) * tile_threads] =
                make_float4(sum[n][4 * h], sum[n][4 * h + 1], sum[n][4 * h + 2], sum[n][4 * h + 3]);
    }
    const std::int64_t begin = static_cast<std::int64_t>(tile) * args.steps;
    const int first = worker_of(args, begin), last = worker_of(args, begin + args.steps - 1);
    __shared__ bool comes_last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        int& counter = args.matmul.counters[tile * args.pieces + piece];
        comes_last = atomicAdd(&counter, 1) == last - first;
        if (comes_last) counter = 0;
    }
    __syncthreads();
    if (!comes_last) return false;
    __threadfence();
#pragma unroll
    for (int n = 0; n < groups; ++n) {
#pragma unroll
        for (int i = 0; i < 8; ++i) sum[n][i] = 0;
    }
    for (int each = first; each <= last; ++each) {
        const float4* part = part_of<groups, tile_threads>(args, each, piece, each == first);
#pragma unroll
        for (int n = 0; n < groups; ++n) {
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const float4 v = written_elsewhere(part + (2 * n + h) * tile_threads);
                sum[n][4 * h] += v.x;
                sum[n][4 * h + 1] += v.y;
                sum[n][4 * h + 2] += v.z;
                sum[n][4 * h + 3] += v.w;
            }
        }
    }
    return true;
}

// Of row x_row of x and row `row` of the place's matrix; second: of up, if gated.
template <bool gated>
__device__ __forceinline__ void put(const MatmulArgs& args, const TilePlace& place, int row, int x_row,
                                    float first, float second) {
    if (x_row >= args.rows || row >= place.weights.rows) return;
    const float result = gated ? gated_value(args.activation, first, second) : first;
    const std::int64_t to = static_cast<std::int64_t>(x_row) * args.out_columns + place.out_begin + row;
    if (args.out_float) {
        static_cast<float*>(args.out)[to] = result;
    } else {
        static_cast<__half*>(args.out)[to] = limited_half(result, args.limit);
    }
}

}  // namespace voltpile::llm
