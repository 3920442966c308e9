// The products with the first factors of adapters: reduced[s, place of item i, k] = sum_c a[k, c] * x[row of
// item i, c] over the columns of section s.
#include "llm/ops/cuda/adapted_items.cuh"
#include "llm/ops/cuda/adapters_reduce.h"
#include "llm/ops/cuda/factor_tile.cuh"

namespace voltpile::llm {

namespace {

constexpr int warps = 8, threads = 32 * warps;
// Groups of rows of the factor that a block multiplies, and chunks that it loads at once. Blocks of one row are
// few: smaller ones, in which all loads are under way at once.
__host__ __device__ constexpr int groups_each(int tile) {
    return tile == 1 ? 1 : 4;
}
__host__ __device__ constexpr int chunks_each(int tile) {
    return tile == 1 ? 8 : FactorTile::chunks_at_once;
}
__host__ __device__ constexpr int factors_each(int tile) {
    return groups_each(tile) * FactorTile::group;
}

// The columns of a warp: equal parts of a section, in whole chunks.
__host__ __device__ constexpr int columns_of_warp(int columns) {
    const int parts = sections_of(columns) * warps * FactorTile::chunk;
    return (columns + parts - 1) / parts * FactorTile::chunk;
}

// Returns 8 numbers of a row from column c on, 0 for columns that do not exist. whole: all 8 exist or none.
template <bool whole>
__device__ __forceinline__ uint4 eight_of(const __half* row, int c, int columns, bool wanted) {
    uint4 v = make_uint4(0, 0, 0, 0);
    if (!wanted || c >= columns) return v;
    if constexpr (whole) return *reinterpret_cast<const uint4*>(row + c);
    auto* const bits = reinterpret_cast<std::uint16_t*>(&v);
    const auto* const from = reinterpret_cast<const std::uint16_t*>(row + c);
#pragma unroll
    for (int i = 0; i < 8; ++i) bits[i] = c + i < columns ? from[i] : std::uint16_t{0};
    return v;
}

template <int tile>
struct ReduceShared {
    TileItems<tile> items;
    float part[warps][FactorTile::rows][factors_each(tile) + 1];
};

// Of a tile of items, the section blockIdx.z, and some groups of rows of the factor.
template <int tile, bool whole>
__device__ __forceinline__ void reduce_tile(const AdapterArgs& args, int places, ReduceShared<tile>& shared) {
    constexpr int groups = groups_each(tile), steps = chunks_each(tile);
    constexpr bool has_high = tile > FactorTile::rows / 2;
    const int warp = static_cast<int>(threadIdx.x) / 32, columns = args.columns;
    const int section = static_cast<int>(blockIdx.z), first_group = static_cast<int>(blockIdx.y) * groups;
    const int my_columns = columns_of_warp(columns);
    const int begin = (section * warps + warp) * my_columns, end = min(begin + my_columns, columns);
    const auto row_of_x = [&](int i) {
        return static_cast<const __half*>(args.x) + static_cast<std::int64_t>(shared.items.row[i]) * columns;
    };
    const int my_row = FactorTile::row();
    const bool has_low = my_row < tile && shared.items.factors[my_row < tile ? my_row : 0] != no_item;
    const __half* const low = row_of_x(has_low ? my_row : 0);
    const __half* const high = row_of_x(has_high ? my_row + 8 : 0);
    for_each_factors<false>(shared.items, [&](int factors, unsigned same) {
        const AdapterEntry entry = args.adapters[factors];
        const int count = min(entry.rank * args.matrices / FactorTile::group - first_group, groups);
        if (count <= 0) return;
        const auto* const a = static_cast<const __half*>(entry.a) +
                              static_cast<std::int64_t>(first_group * FactorTile::group + my_row) * columns;
        float sum[groups][FactorTile::sums] = {};
#pragma unroll 1
        for (int chunk = begin; chunk < end; chunk += steps * FactorTile::chunk) {
            const int c = chunk + FactorTile::column();
            uint4 x[steps][2], w[steps][groups];
#pragma unroll
            for (int s = 0; s < steps; ++s) {
#pragma unroll
                for (int g = 0; g < groups; ++g)
                    w[s][g] = eight_of<whole>(a + static_cast<std::int64_t>(g * FactorTile::group) * columns,
                                              c + s * FactorTile::chunk, end, g < count);
            }
            wait_for_earlier_kernels();  // for x
#pragma unroll
            for (int s = 0; s < steps; ++s) {
                x[s][0] = eight_of<whole>(low, c + s * FactorTile::chunk, end, has_low);
                x[s][1] = eight_of<whole>(high, c + s * FactorTile::chunk, end, has_high);
            }
#pragma unroll
            for (int s = 0; s < steps; ++s) {
#pragma unroll
                for (int g = 0; g < groups; ++g) FactorTile::multiply(sum[g], x[s][0], x[s][1], w[s][g]);
            }
        }
#pragma unroll
        for (int g = 0; g < groups; ++g)
            FactorTile::each_sum(sum[g], [&](int row, int factor, float value) {
                shared.part[warp][row][g * FactorTile::group + factor] = value;
            });
        __syncthreads();
        for (int at = static_cast<int>(threadIdx.x); at < tile * factors_each(tile);
             at += threads) {
            const int i = at / factors_each(tile), k = at % factors_each(tile);
            if ((same >> i & 1) == 0 || k >= count * FactorTile::group) continue;
            float all = 0;
#pragma unroll
            for (int w = 0; w < warps; ++w) all += shared.part[w][i][k];
            const std::int64_t place = static_cast<std::int64_t>(section) * places + shared.items.place[i];
            args.reduced[place * args.matrices * args.most_rank + first_group * FactorTile::group + k] = all;
        }
        __syncthreads();
    });
}

template <int tile, bool whole>
__global__ void __launch_bounds__(threads, 2) reduce_rows(const __grid_constant__ AdapterArgs args) {
    __shared__ ReduceShared<tile> shared;
    const int first = static_cast<int>(blockIdx.x) * tile;
    let_next_kernel_begin();
    find_items(args, first, shared.items);
    __syncthreads();
    reduce_tile<tile, whole>(args, args.batch_rows, shared);
    wait_for_earlier_kernels();  // if no item has factors
}

template <int tile, bool whole>
__global__ void __launch_bounds__(threads, 2) reduce_pairs(const __grid_constant__ ExpertAdapterArgs args) {
    __shared__ ReduceShared<tile> shared;
    const int first = static_cast<int>(blockIdx.x) * tile;
    begin_after_earlier_kernels();
    find_items(args, first, shared.items);
    __syncthreads();
    reduce_tile<tile, whole>(args.factors, args.factors.rows, shared);
}

LaunchShape shape_of(const AdapterArgs& args, int tile) {
    const int factors = args.matrices * args.most_rank;
    return {(args.rows + tile - 1) / tile, threads, 0, (factors + factors_each(tile) - 1) / factors_each(tile),
            sections_of(args.columns)};
}

template <int tile>
void launch_rows(const AdapterArgs& args, const Stream& stream) {
    launch_early("adapters", args.columns % 8 == 0 ? reduce_rows<tile, true> : reduce_rows<tile, false>,
                 shape_of(args, tile), stream, args);
}

template <int tile>
void launch_pairs(const ExpertAdapterArgs& args, const Stream& stream) {
    launch_early("adapters of experts",
                 args.factors.columns % 8 == 0 ? reduce_pairs<tile, true> : reduce_pairs<tile, false>,
                 shape_of(args.factors, tile), stream, args);
}

}  // namespace

void launch_reduce_rows(const AdapterArgs& args, const Stream& stream) {
    few_adapted_rows(args.rows) ? launch_rows<1>(args, stream) : launch_rows<FactorTile::rows>(args, stream);
}

void launch_reduce_pairs(const ExpertAdapterArgs& args, const Stream& stream) {
    few_adapted_pairs(args) ? launch_pairs<1>(args, stream) : launch_pairs<FactorTile::rows>(args, stream);
}

}  // namespace voltpile::llm
