// Matrix products of many rows on tensor cores, with the bits of the tiles for some rows: the same products
// in the same order, and parts of the columns that are summed apart. What many rows need is that every number
// in shared memory is used often: a block has 128 rows of x, a warp 32 rows of weights by 64 of x.
#include <mma.h>

#include <algorithm>

#include "llm/ops/cuda_async_copy.cuh"
#include "llm/ops/cuda_row_units.cuh"
#include "llm/ops/cuda_tiles.cuh"

namespace voltpile::llm {

namespace {

using namespace nvcuda;

constexpr int x_rows = 128;
constexpr int step_columns = 64;                 // at a time, while the next ones come
constexpr int shared_stride = step_columns + 8;  // halves from row to row: no bank conflicts
constexpr int result_stride = tile_weights + 4;  // floats
constexpr int steps_of_unit = part_columns / step_columns;

// One block has a multiprocessor to itself, and memory is far: where copies run alone, x and weights come two
// steps ahead, these through registers; elsewhere, where registers have no room for more, one step.
constexpr int x_stages = 3, weight_stages = 2;
struct Stages {
    __half x[x_stages][x_rows][shared_stride];
    __half weights[weight_stages][tile_weights][shared_stride];
};
constexpr std::size_t shared_bytes = sizeof(Stages);
static_assert(shared_bytes >= x_rows * result_stride * sizeof(float) && shared_bytes <= 96 * 1024);

using Sum = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

// Grid: tiles of weights and, next to each other as they read the same weights, pieces of x_rows rows of x;
// groups of parts. A block that has all parts adds them up itself.
// slices: of 16 rows of x that a warp has; not asked for at run time, as branches between products cost more
// than products of rows that are not there.
template <WeightFormat format, bool gated, int slices>
__global__ void __launch_bounds__(tile_threads, 1) wide_product(const TileArgs args) {
    using Unit = RowUnit<format>;
    extern __shared__ __align__(32) std::uint8_t shared[];
    auto& stages = *reinterpret_cast<Stages*>(shared);
    auto* results = reinterpret_cast<float*>(shared);  // once the sums are there
    const MatmulArgs& a = args.matmul;

    const int t = static_cast<int>(threadIdx.x), warp = t / 32;
    const int warp_weight = warp % 4 * 32, warp_x = warp / 4 * 16;  // x: every other 16 rows
    const int tile = static_cast<int>(blockIdx.x), pieces = (a.rows + x_rows - 1) / x_rows;
    const TilePlace place = place_of<gated>(args, tile / pieces);
    const int columns = a.matrix[0].columns;
    const int x_begin = tile % pieces * x_rows, rows = min(x_rows, a.rows - x_begin);
    const int parts_each = (a.split + static_cast<int>(gridDim.y) - 1) / static_cast<int>(gridDim.y);
    const int first_part = static_cast<int>(blockIdx.y) * parts_each;
    const int end_part = min(a.split, first_part + parts_each);
    const bool alone = gridDim.y == 1;

    const int begin = units_of(a, first_part).begin * steps_of_unit;
    const int end = units_of(a, max(first_part, end_part - 1)).end * steps_of_unit;

    // A thread brings one unit of 32 weights, and 16-byte pieces of x.
    const int in_tile = t / 2;
    const DeviceMatrix& w = a.matrix[gated ? in_tile / 64 : place.matrix];
    const int weight_row = place.first_row + (gated ? in_tile % 64 : in_tile);
    typename Unit::Raw raw[copies_run_alone ? weight_stages : 1];
    const auto raw_of = [&](int slot) -> auto& { return raw[copies_run_alone ? slot : 0]; };
    const auto there = [&](int step) {
        return step < end && weight_row < w.rows && (step * 2 + t % 2) * 32 < columns;
    };
    const auto load_weights = [&](int step, int slot) {
        if (there(step)) raw_of(slot) = Unit::load(w, weight_row, step * 2 + t % 2);
    };
    const auto store_weights = [&](int step, int slot) {
        uint4 halves[4] = {};
        if (there(step)) Unit::halves(raw_of(slot), halves);
#pragma unroll
        for (int q = 0; q < 4; ++q)
            *reinterpret_cast<uint4*>(&stages.weights[slot][in_tile][t % 2 * 32 + q * 8]) = halves[q];
    };
    static_assert(x_rows * step_columns / 8 / tile_threads == 4 && tile_threads / 8 == 32);
    uint4 x[copies_run_alone ? 1 : slices];  // a piece for each slice
    const auto x_stage = [](int step) { return copies_run_alone ? step % x_stages : step % 2; };
    const auto* x_from =
        static_cast<const __half*>(a.x) + static_cast<std::int64_t>(x_begin + t / 8) * columns + t % 8 * 8;
    __half* const x_to = &stages.x[0][t / 8][t % 8 * 8];
    const auto each_piece = [&](int step, const auto& take) {
        const bool inside = step < end && step * step_columns + t % 8 * 8 < columns;
        __half* to = x_to + x_stage(step) * (x_rows * shared_stride);
#pragma unroll
        for (int i = 0; i < slices; ++i) {
            const bool wanted = inside && t / 8 + i * 32 < rows;
            const auto at = static_cast<std::int64_t>(i * 32) * columns + step * step_columns;
            take(i, to + i * 32 * shared_stride, wanted ? x_from + at : static_cast<const __half*>(a.x),
                 wanted);
        }
    };
    const auto copy_x = [&](int step) {
        if constexpr (copies_run_alone) {
            each_piece(
                step, [](int, __half* to, const __half* from, bool wanted) { copy_alone(to, from, wanted); });
            end_of_copies();
        }
    };
    const auto load_x = [&](int step) {
        if constexpr (!copies_run_alone)
            each_piece(step, [&](int i, __half*, const __half* from, bool wanted) {
                x[i] = load_or_zero(from, wanted);
            });
    };
    const auto store_x = [&](int step) {
        if constexpr (!copies_run_alone)
            each_piece(step,
                       [&](int i, __half* to, const __half*, bool) { *reinterpret_cast<uint4*>(to) = x[i]; });
    };

    Sum sum[2][slices], total[2][slices];
#pragma unroll
    for (int i = 0; i < 2 * slices; ++i) {
        wmma::fill_fragment(sum[i % 2][i / 2], 0.0f);
        wmma::fill_fragment(total[i % 2][i / 2], 0.0f);
    }
    // (rows of x, rows of weights) from the warp's first.
    const auto write_sums = [&](Sum(&from)[2][slices], float* to, int stride) {
#pragma unroll
        for (int n = 0; n < slices; ++n) {
#pragma unroll
            for (int m = 0; m < 2; ++m)
                wmma::store_matrix_sync(to + (warp_x + n * 32) * stride + warp_weight + m * 16, from[m][n],
                                        stride, wmma::mem_col_major);
        }
    };
    const auto end_of_part = [&](int part) {
        if (alone) {
#pragma unroll
            for (int i = 0; i < 2 * slices; ++i) {
#pragma unroll
                for (int e = 0; e < Sum::num_elements; ++e)
                    total[i % 2][i / 2].x[e] += sum[i % 2][i / 2].x[e];
            }
        } else {
            write_sums(sum, parts_of_tile(a, tile, x_rows) + part * (x_rows * tile_weights), tile_weights);
        }
#pragma unroll
        for (int i = 0; i < 2 * slices; ++i) wmma::fill_fragment(sum[i % 2][i / 2], 0.0f);
    };

    // As far as registers allow.
    constexpr int unrolled = copies_run_alone ? weight_stages : 1;
    constexpr int unrolled_products = copies_run_alone ? 4 : 1;
    int part = first_part, part_end = units_of(a, part).end * steps_of_unit;
    load_weights(begin, 0);
    if (copies_run_alone) load_weights(begin + 1, 1);
    copy_x(begin);
    copy_x(begin + 1);
    load_x(begin);
    store_weights(begin, 0);
    store_x(begin);
    if (copies_run_alone) load_weights(begin + 2, 0);
    for (int first = begin; first < end; first += weight_stages) {
#pragma unroll unrolled
        for (int now = 0; now < weight_stages; ++now) {
            const int step = first + now, next = 1 - now;
            if (step >= end) break;
            wait_for_earlier_copies<1>();
            __syncthreads();
            copy_x(step + 2);
            load_x(step + 1);
            if (!copies_run_alone) load_weights(step + 1, next);
            const __half* ws_at = &stages.weights[now][warp_weight][0];
            const __half* xs_at = &stages.x[x_stage(step)][warp_x][0];
#pragma unroll unrolled_products
            for (int k = 0; k < step_columns; k += 16) {
                wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> ws[2];
#pragma unroll
                for (int m = 0; m < 2; ++m)
                    wmma::load_matrix_sync(ws[m], ws_at + m * 16 * shared_stride + k, shared_stride);
#pragma unroll
                for (int n = 0; n < slices; ++n) {
                    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> v;
                    wmma::load_matrix_sync(v, xs_at + n * 32 * shared_stride + k, shared_stride);
#pragma unroll
                    for (int m = 0; m < 2; ++m) wmma::mma_sync(sum[m][n], ws[m], v, sum[m][n]);
                }
            }
            store_weights(step + 1, next);
            store_x(step + 1);
            if (copies_run_alone) load_weights(step + 3, next);
            if (step + 1 == part_end) {
                end_of_part(part++);
                part_end = units_of(a, part).end * steps_of_unit;
            }
        }
    }
    // Parts beyond the last columns are 0.
    for (; part < end_part; ++part) end_of_part(part);

    wait_for_copies();
    if (!alone) return add_parts<gated>(a, place, tile, x_begin, x_rows);
    __syncthreads();
    write_sums(total, results, result_stride);
    __syncthreads();
    constexpr int outputs = gated ? tile_weights / 2 : tile_weights;
    for (int i = t; i < rows * outputs; i += tile_threads) {
        const float* from = results + i / outputs * result_stride + i % outputs;
        put<gated>(a, place, i % outputs, x_begin + i / outputs, from[0], gated ? from[outputs] : 0);
    }
}

int pieces_of(const MatmulArgs& args) {
    return (args.rows + x_rows - 1) / x_rows;
}

template <WeightFormat format, bool gated>
void start(const MatmulArgs& args, int groups, const Stream& stream) {
    const auto kernel = args.rows <= 96 ? wide_product<format, gated, 3> : wide_product<format, gated, 4>;
    cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(shared_bytes)),
               "shared memory of a wide product");
    launch("wide product", kernel, {tiles_of(args) * pieces_of(args), tile_threads, shared_bytes, groups},
           stream, tile_args(args));
}

}  // namespace

// As many as let the blocks end soonest, one at a time on each multiprocessor; parts that are not added up at
// once cost about a fifth more.
int wide_groups(const MatmulArgs& args, int multiprocessors) {
    const int blocks = tiles_of(args) * pieces_of(args);
    const auto time = [&](int groups) {
        const int waves = (blocks * groups + multiprocessors - 1) / multiprocessors;
        const int parts = (args.split + groups - 1) / groups;
        return static_cast<double>(waves * parts) * (groups > 1 ? 1.2 : 1.0);
    };
    int best = 1;
    for (int groups = 2; groups <= args.split; ++groups) {
        if (time(groups) < time(best)) best = groups;
    }
    return best;
}

std::size_t wide_scratch_bytes(const MatmulArgs& args, int groups) {
    if (groups == 1) return 0;
    return sizeof(float) * x_rows * tile_weights * static_cast<std::size_t>(tiles_of(args)) *
           static_cast<std::size_t>(pieces_of(args)) * static_cast<std::size_t>(args.split);
}

void launch_wide_tiles(const MatmulArgs& args, int groups, const Stream& stream) {
    with_format(args.matrix[0].format, [&](auto format) {
        if (args.gated) {
            start<format.value, true>(args, groups, stream);
        } else {
            start<format.value, false>(args, groups, stream);
        }
    });
}

}  // namespace voltpile::llm
