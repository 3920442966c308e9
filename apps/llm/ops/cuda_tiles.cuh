// What the tiled products share: which weights a tile has, where results go, and how the sums of a tile's
// parts of the columns come together.
#pragma once

#include "device/launch.cuh"
#include "llm/ops/cuda_half.cuh"
#include "llm/ops/cuda_matmul.h"

namespace voltpile::llm {

constexpr int tile_threads = 256;
constexpr int part_columns = 128;  // parts of the columns are a multiple of these

__device__ inline float silu(float g) {
    return g / (1 + expf(-g));
}

__device__ __forceinline__ uint4 load_or_zero(const __half* from, bool there) {
    uint4 v;
    v.x = v.y = v.z = v.w = 0;
    if (there) {
        const uint4 read = *reinterpret_cast<const uint4*>(from);
        v.x = read.x;
        v.y = read.y;
        v.z = read.z;
        v.w = read.w;
    }
    return v;
}

struct TileArgs {
    MatmulArgs matmul;
    int first_tile[4];
};

struct TilePlace {
    int matrix, first_row;
};
// Row of the tile -> matrix and row; a gated tile has 64 rows of the gate, then the same of up.
template <bool gated>
__device__ TilePlace place_of(const TileArgs& args, int tile) {
    if (gated) return {0, tile * (tile_weights / 2)};
    const int m = (args.matmul.matrices > 1 && tile >= args.first_tile[1]) +
                  (args.matmul.matrices > 2 && tile >= args.first_tile[2]);
    return {m, (tile - args.first_tile[m]) * tile_weights};
}

template <bool gated>
__device__ void put(const MatmulArgs& args, const TilePlace& place, int weight, int x_row, float first,
                    float second) {
    const int row = place.first_row + weight;
    if (x_row >= args.rows || row >= args.matrix[place.matrix].rows) return;
    const float result = gated ? silu(first) * second : first;
    const std::int64_t to =
        static_cast<std::int64_t>(x_row) * args.out_columns + args.out_begin[place.matrix] + row;
    if (args.out_float) {
        static_cast<float*>(args.out)[to] = result;
    } else {
        static_cast<__half*>(args.out)[to] = limited_half(result, args.limit);
    }
}

// Of a part: the columns in units of part_columns.
struct PartUnits {
    int begin, end;
};
__device__ inline PartUnits units_of(const MatmulArgs& args, int part) {
    const int units = (args.matrix[0].columns + part_columns - 1) / part_columns;
    const int each = (units + args.split - 1) / args.split;
    return {min(units, part * each), min(units, (part + 1) * each)};
}

// The sums of parts, (x_rows, tile_weights) fp32 each, of the block's tile.
__device__ inline float* parts_of_tile(const MatmulArgs& args, int tile, int x_rows) {
    return reinterpret_cast<float*>(args.scratch) +
           static_cast<std::int64_t>(tile) * args.split * x_rows * tile_weights;
}

// By all blocks of a tile, after the sums of their parts are in memory: the last one to come adds up all of
// them, in order.
template <bool gated>
__device__ void add_parts(const MatmulArgs& a, const TilePlace& place, int tile, int x_begin, int x_rows) {
    const int t = static_cast<int>(threadIdx.x);
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (t == 0) {
        last = atomicAdd(a.counters + tile, 1) == static_cast<int>(gridDim.y) - 1;
        if (last) a.counters[tile] = 0;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    constexpr int outputs = gated ? tile_weights / 2 : tile_weights;
    const float* parts = parts_of_tile(a, tile, x_rows);
    for (int i = t; i < min(x_rows, a.rows - x_begin) * outputs; i += tile_threads) {
        const volatile float* from = parts + i / outputs * tile_weights + i % outputs;  // past the L1 cache
        float first = 0, second = 0;
        for (int s = 0; s < a.split; ++s, from += x_rows * tile_weights) {
            first += *from;
            if (gated) second += from[outputs];
        }
        put<gated>(a, place, i % outputs, x_begin + i / outputs, first, second);
    }
}

inline int tiles_in(const DeviceMatrix& w, bool gated) {
    const int weights = gated ? tile_weights / 2 : tile_weights;
    return (w.rows + weights - 1) / weights;
}
inline int tiles_of(const MatmulArgs& args) {
    if (args.gated) return tiles_in(args.matrix[0], true);
    int tiles = 0;
    for (int m = 0; m < args.matrices; ++m) tiles += tiles_in(args.matrix[m], false);
    return tiles;
}
inline TileArgs tile_args(const MatmulArgs& args) {
    TileArgs tiles{args, {0, 0, 0, 0}};
    for (int m = 0; m < args.matrices; ++m) {
        tiles.first_tile[m + 1] = tiles.first_tile[m] + tiles_in(args.matrix[m], args.gated);
    }
    return tiles;
}

}  // namespace voltpile::llm
