// Matrix products of 9 and more rows on tensor cores: tiles of weights become fp16 in shared memory.
#include <mma.h>

#include <algorithm>

#include "device/launch.cuh"
#include "llm/ops/cuda_matmul.h"
#include "llm/ops/cuda_row_units.cuh"

namespace voltpile::llm {

namespace {

using namespace nvcuda;

constexpr int threads = 256;
constexpr int step_columns = 128;                // of a matrix at a time
constexpr int shared_stride = step_columns + 8;  // halves from row to row: no bank conflicts
constexpr int result_stride = tile_weights + 4;  // floats

__device__ float silu(float g) {
    return g / (1 + expf(-g));
}

int tiles_in(const DeviceMatrix& w, bool gated) {
    const int weights = gated ? tile_weights / 2 : tile_weights;
    return (w.rows + weights - 1) / weights;
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

// Blocks a multiprocessor, for which registers must do: V100's shared memory has no room for two large ones.
constexpr int blocks_for_rows([[maybe_unused]] int x_rows) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    return x_rows == 64 ? 1 : 2;
#else
    return 2;
#endif
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
        static_cast<__half*>(args.out)[to] = __float2half_rn(result);
    }
}

// Grid: tiles of weights, parts of the columns, pieces of x_rows rows of x.
template <WeightFormat format, int x_rows, bool gated>
__global__ void __launch_bounds__(threads, blocks_for_rows(x_rows)) tile_product(const TileArgs args) {
    using Unit = RowUnit<format>;
    extern __shared__ __align__(32) std::uint8_t shared[];
    auto* weights = reinterpret_cast<__half*>(shared);
    __half* xs = weights + tile_weights * shared_stride;
    auto* results = reinterpret_cast<float*>(shared);  // once the sums are there
    const MatmulArgs& a = args.matmul;

    const int t = static_cast<int>(threadIdx.x), warp = t / 32;
    const TilePlace place = place_of<gated>(args, static_cast<int>(blockIdx.x));
    const int columns = a.matrix[0].columns;
    const int steps = (columns + step_columns - 1) / step_columns;
    const int steps_each = (steps + a.split - 1) / a.split;
    const int begin = static_cast<int>(blockIdx.y) * steps_each, end = min(steps, begin + steps_each);
    const int x_begin = static_cast<int>(blockIdx.z) * x_rows;

    // Each thread brings two units of 32 weights and some 16-byte pieces of x.
    constexpr int unrolled = x_rows == 64 ? 1 : 4;  // as many as registers allow
    constexpr int x_pieces = x_rows * step_columns / 8 / threads;
    typename Unit::Raw raw[2];
    uint4 x[x_pieces];
    const auto load = [&](int step) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int in_tile = t / 4 + i * 64, unit = step * 4 + t % 4;
            const int m = gated ? i : place.matrix;
            const int row = place.first_row + (gated ? in_tile % 64 : in_tile);
            if (row < a.matrix[m].rows && unit * 32 < columns) raw[i] = Unit::load(a.matrix[m], row, unit);
        }
#pragma unroll
        for (int i = 0; i < x_pieces; ++i) {
            const int piece = t + i * threads, row = x_begin + piece / 16,
                      column = step * step_columns + piece % 16 * 8;
            x[i] = load_or_zero(
                static_cast<const __half*>(a.x) + static_cast<std::int64_t>(row) * columns + column,
                row < a.rows && column < columns);
        }
    };
    const auto store = [&](int step) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int in_tile = t / 4 + i * 64, unit = step * 4 + t % 4;
            const int m = gated ? i : place.matrix;
            const int row = place.first_row + (gated ? in_tile % 64 : in_tile);
            auto* to = reinterpret_cast<uint4*>(weights + in_tile * shared_stride + t % 4 * 32);
            float value[32] = {};
            if (row < a.matrix[m].rows && unit * 32 < columns) Unit::values(raw[i], value);
#pragma unroll
            for (int q = 0; q < 4; ++q) to[q] = halves_of(value + 8 * q);
        }
#pragma unroll
        for (int i = 0; i < x_pieces; ++i) {
            const int piece = t + i * threads;
            *reinterpret_cast<uint4*>(xs + piece / 16 * shared_stride + piece % 16 * 8) = x[i];
        }
    };

    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[x_rows / 16];
#pragma unroll
    for (auto& s : sum) wmma::fill_fragment(s, 0.0f);
    if (begin < end) load(begin);
    for (int step = begin; step < end; ++step) {
        store(step);
        __syncthreads();
        if (step + 1 < end) load(step + 1);
#pragma unroll unrolled
        for (int k = 0; k < step_columns; k += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> w;
            wmma::load_matrix_sync(w, weights + warp * 16 * shared_stride + k, shared_stride);
#pragma unroll
            for (int n = 0; n < x_rows / 16; ++n) {
                wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> v;
                wmma::load_matrix_sync(v, xs + n * 16 * shared_stride + k, shared_stride);
                wmma::mma_sync(sum[n], w, v, sum[n]);
            }
        }
        __syncthreads();
    }

    // results[row of x][row of weights]
#pragma unroll
    for (int n = 0; n < x_rows / 16; ++n) {
        wmma::store_matrix_sync(results + n * 16 * result_stride + warp * 16, sum[n], result_stride,
                                wmma::mem_col_major);
    }
    __syncthreads();
    constexpr int outputs = gated ? tile_weights / 2 : tile_weights;
    if (a.split == 1) {
        for (int i = t; i < x_rows * outputs; i += threads) {
            const float* from = results + i / outputs * result_stride + i % outputs;
            put<gated>(a, place, i % outputs, x_begin + i / outputs, from[0], gated ? from[outputs] : 0);
        }
        return;
    }

    // The last part of a tile to come adds up all of them, in order.
    constexpr int size = x_rows * tile_weights;
    const int tile = static_cast<int>(blockIdx.z * gridDim.x + blockIdx.x);
    float* parts = reinterpret_cast<float*>(a.scratch) + static_cast<std::int64_t>(tile) * a.split * size;
    for (int i = t; i < size; i += threads) {
        parts[static_cast<std::int64_t>(blockIdx.y) * size + i] =
            results[i / tile_weights * result_stride + i % tile_weights];
    }
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (t == 0) {
        last = atomicAdd(a.counters + tile, 1) == a.split - 1;
        if (last) a.counters[tile] = 0;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    for (int i = t; i < x_rows * outputs; i += threads) {
        const volatile float* from = parts + i / outputs * tile_weights + i % outputs;  // past the L1 cache
        float first = 0, second = 0;
        for (int s = 0; s < a.split; ++s, from += size) {
            first += *from;
            if (gated) second += from[outputs];
        }
        put<gated>(a, place, i % outputs, x_begin + i / outputs, first, second);
    }
}

int rows_of_piece(int rows) {
    return rows <= 16 ? 16 : rows <= 32 ? 32 : 64;
}

int tiles_of(const MatmulArgs& args) {
    if (args.gated) return tiles_in(args.matrix[0], true);
    int tiles = 0;
    for (int m = 0; m < args.matrices; ++m) tiles += tiles_in(args.matrix[m], false);
    return tiles;
}

template <WeightFormat format, int x_rows, bool gated>
void start(const TileArgs& args, const Stream& stream) {
    constexpr std::size_t shared = (tile_weights + x_rows) * shared_stride * sizeof(__half);
    static_assert(shared >= x_rows * result_stride * sizeof(float) && shared <= 96 * 1024);
    const auto kernel = tile_product<format, x_rows, gated>;
    cuda_check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
        "shared memory of a tiled product");
    launch(
        "tiled product", kernel,
        {tiles_of(args.matmul), threads, shared, args.matmul.split, (args.matmul.rows + x_rows - 1) / x_rows},
        stream, args);
}

template <WeightFormat format, bool gated>
void start_rows(const TileArgs& args, const Stream& stream) {
    switch (rows_of_piece(args.matmul.rows)) {
        case 16:
            return start<format, 16, gated>(args, stream);
        case 32:
            return start<format, 32, gated>(args, stream);
        default:
            return start<format, 64, gated>(args, stream);
    }
}

}  // namespace

int tile_split(const MatmulArgs& args, int multiprocessors) {
    const int steps = (args.matrix[0].columns + step_columns - 1) / step_columns;
    const int wanted = (3 * multiprocessors + tiles_of(args) - 1) / tiles_of(args);
    return std::clamp(wanted, 1, std::clamp(steps / 2, 1, 16));
}

std::size_t tile_scratch_bytes(const MatmulArgs& args) {
    if (args.split == 1) return 0;
    const int piece = rows_of_piece(args.rows), pieces = (args.rows + piece - 1) / piece;
    return static_cast<std::size_t>(pieces) * piece * tile_weights * sizeof(float) * tiles_of(args) *
           args.split;
}

void launch_tiles(const MatmulArgs& args, const Stream& stream) {
    TileArgs tiles{args, {0, 0, 0, 0}};
    for (int m = 0; m < args.matrices; ++m) {
        tiles.first_tile[m + 1] = tiles.first_tile[m] + tiles_in(args.matrix[m], args.gated);
    }
    with_format(args.matrix[0].format, [&](auto format) {
        if (args.gated) {
            start_rows<format.value, true>(tiles, stream);
        } else {
            start_rows<format.value, false>(tiles, stream);
        }
    });
}

}  // namespace voltpile::llm
