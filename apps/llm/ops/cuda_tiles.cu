// Matrix products of some rows on tensor cores: tiles of weights become fp16 in shared memory.
#include <mma.h>

#include <algorithm>

#include "llm/ops/cuda_row_units.cuh"
#include "llm/ops/cuda_tiles.cuh"

namespace voltpile::llm {

namespace {

using namespace nvcuda;

constexpr int step_columns = 128;                // of a matrix at a time
constexpr int shared_stride = step_columns + 8;  // halves from row to row: no bank conflicts
constexpr int result_stride = tile_weights + 4;  // floats

// Blocks a multiprocessor, for which registers must do: V100's shared memory has no room for two large ones.
constexpr int blocks_for_rows([[maybe_unused]] int x_rows) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    return x_rows == 64 ? 1 : 2;
#else
    return 2;
#endif
}

// Grid: tiles of weights, parts of the columns.
template <WeightFormat format, int x_rows, bool gated>
__global__ void __launch_bounds__(tile_threads, blocks_for_rows(x_rows)) tile_product(const TileArgs args) {
    using Unit = RowUnit<format>;
    extern __shared__ __align__(32) std::uint8_t shared[];
    auto* weights = reinterpret_cast<__half*>(shared);
    __half* xs = weights + tile_weights * shared_stride;
    auto* results = reinterpret_cast<float*>(shared);  // once the sums are there
    const MatmulArgs& a = args.matmul;

    const int t = static_cast<int>(threadIdx.x), warp = t / 32;
    const TilePlace place = place_of<gated>(args, static_cast<int>(blockIdx.x));
    const int columns = a.matrix[0].columns;
    static_assert(step_columns == part_columns);
    const auto [begin, end] = units_of(a, static_cast<int>(blockIdx.y));

    // Each thread brings two units of 32 weights and some 16-byte pieces of x, some steps ahead: few rows
    // leave memory little time while the tensor cores work.
    constexpr int depth = x_rows == 16 && format != WeightFormat::F16 ? 2 : 1;
    constexpr int unrolled = x_rows == 64 ? 1 : depth == 2 ? 2 : 4;  // as many as registers allow
    constexpr int x_pieces = x_rows * step_columns / 8 / tile_threads;
    typename Unit::Raw raw[depth][2];
    uint4 x[depth][x_pieces];
    const auto load = [&](int step, int d) {
        if (step >= end) return;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int in_tile = t / 4 + i * 64, unit = step * 4 + t % 4;
            const int m = gated ? i : place.matrix;
            const int row = place.first_row + (gated ? in_tile % 64 : in_tile);
            if (row < a.matrix[m].rows && unit * 32 < columns) raw[d][i] = Unit::load(a.matrix[m], row, unit);
        }
#pragma unroll
        for (int i = 0; i < x_pieces; ++i) {
            const int piece = t + i * tile_threads, row = piece / 16,
                      column = step * step_columns + piece % 16 * 8;
            x[d][i] = load_or_zero(
                static_cast<const __half*>(a.x) + static_cast<std::int64_t>(row) * columns + column,
                row < a.rows && column < columns);
        }
    };
    const auto store = [&](int step, int d) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int in_tile = t / 4 + i * 64, unit = step * 4 + t % 4;
            const int m = gated ? i : place.matrix;
            const int row = place.first_row + (gated ? in_tile % 64 : in_tile);
            auto* to = reinterpret_cast<uint4*>(weights + in_tile * shared_stride + t % 4 * 32);
            uint4 halves[4] = {};
            if (row < a.matrix[m].rows && unit * 32 < columns) Unit::halves(raw[d][i], halves);
#pragma unroll
            for (int q = 0; q < 4; ++q) to[q] = halves[q];
        }
#pragma unroll
        for (int i = 0; i < x_pieces; ++i) {
            const int piece = t + i * tile_threads;
            *reinterpret_cast<uint4*>(xs + piece / 16 * shared_stride + piece % 16 * 8) = x[d][i];
        }
    };

    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[x_rows / 16];
#pragma unroll
    for (auto& s : sum) wmma::fill_fragment(s, 0.0f);
#pragma unroll
    for (int d = 0; d < depth; ++d) load(begin + d, d);
    for (int first = begin; first < end; first += depth) {
#pragma unroll
        for (int d = 0; d < depth; ++d) {
            const int step = first + d;
            if (step >= end) break;
            store(step, d);
            __syncthreads();
            load(step + depth, d);
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
        for (int i = t; i < x_rows * outputs; i += tile_threads) {
            const float* from = results + i / outputs * result_stride + i % outputs;
            put<gated>(a, place, i % outputs, i / outputs, from[0], gated ? from[outputs] : 0);
        }
        return;
    }

    constexpr int size = x_rows * tile_weights;
    const int tile = static_cast<int>(blockIdx.x);
    float* parts = parts_of_tile(a, tile, x_rows);
    for (int i = t; i < size; i += tile_threads) {
        parts[static_cast<std::int64_t>(blockIdx.y) * size + i] =
            results[i / tile_weights * result_stride + i % tile_weights];
    }
    add_parts<gated>(a, place, tile, 0, x_rows);
}

constexpr int most_split = 16;
constexpr double cost_of_split = 0.03;  // of the time, for one more part's sums

int rows_of_tile(int rows) {
    return rows <= 16 ? 16 : rows <= 32 ? 32 : 64;
}

template <WeightFormat format, int x_rows, bool gated>
void start(const TileArgs& args, const Stream& stream) {
    constexpr std::size_t shared = (tile_weights + x_rows) * shared_stride * sizeof(__half);
    static_assert(shared >= x_rows * result_stride * sizeof(float) && shared <= 96 * 1024);
    const auto kernel = tile_product<format, x_rows, gated>;
    cuda_check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
        "shared memory of a tiled product");
    launch("tiled product", kernel, {tiles_of(args.matmul), tile_threads, shared, args.matmul.split}, stream,
           args);
}

template <WeightFormat format, bool gated>
void start_rows(const TileArgs& args, const Stream& stream) {
    switch (rows_of_tile(args.matmul.rows)) {
        case 16:
            return start<format, 16, gated>(args, stream);
        case 32:
            return start<format, 32, gated>(args, stream);
        default:
            return start<format, 64, gated>(args, stream);
    }
}

}  // namespace

// Enough parts for the blocks to fill the multiprocessors, with two on each, and to end together.
int tile_split(const MatmulArgs& args, int multiprocessors) {
    const int units = (args.matrix[0].columns + part_columns - 1) / part_columns;
    const int tiles = tiles_of(args), places = 2 * multiprocessors;
    const auto worth = [&](int split) {
        const int blocks = tiles * split, waves = (blocks + places - 1) / places;
        const double busy = static_cast<double>(blocks) / (waves * places);  // until the last block ends
        return busy - cost_of_split * split;
    };
    int best = 1;
    for (int split = 2; split <= std::min(most_split, units / 2); ++split) {
        if (worth(split) > worth(best)) best = split;
    }
    return best;
}

std::size_t tile_scratch_bytes(const MatmulArgs& args) {
    if (args.split == 1) return 0;
    return sizeof(float) * tile_weights * static_cast<std::size_t>(rows_of_tile(args.rows)) *
           static_cast<std::size_t>(tiles_of(args)) * static_cast<std::size_t>(args.split);
}

void launch_tiles(const MatmulArgs& args, const Stream& stream) {
    const TileArgs tiles = tile_args(args);
    with_format(args.matrix[0].format, [&](auto format) {
        if (args.gated) {
            start_rows<format.value, true>(tiles, stream);
        } else {
            start_rows<format.value, false>(tiles, stream);
        }
    });
}

}  // namespace voltpile::llm
