// The products with the first factors of adapters: sum_c a[k, c] * x[row of item i, c].
#include "llm/ops/cuda/adapters_reduce.h"

#include "llm/ops/cuda/adapted_items.cuh"
#include "llm/ops/cuda/factor_tile.cuh"
#include "llm/ops/cuda/half.cuh"

namespace voltpile::llm {

namespace {

constexpr int warps = 16, threads = 32 * warps;

// A block multiplies a tile of items and some groups of rows of the factor, and loads some chunks of columns
// at once. Where there are few items, blocks are smaller, and have more loads under way.
template <int tile_items, int groups_each, int chunks_each>
struct ReduceShape {
    static constexpr int tile = tile_items, groups = groups_each, chunks = chunks_each;
    static constexpr int factors = groups * FactorTile::group;
};
using OneItem = ReduceShape<1, 1, 8>;
using FewItems = ReduceShape<FactorTile::rows, 1, 4>;
using ManyItems = ReduceShape<FactorTile::rows, 4, 2>;
constexpr int most_few_items = 512;

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

template <class Shape>
struct ReduceShared {
    TileItems<Shape::tile> items;
    float part[warps][Shape::tile][Shape::factors + 1];
};

// Of a tile of items, and some groups of rows of the factor. Each warp has equal parts of the columns, in
// whole chunks; their sums are added in order.
template <class Shape, bool whole>
__device__ __forceinline__ void reduce_tile(const AdapterArgs& args, ReduceShared<Shape>& shared) {
    constexpr int tile = Shape::tile, groups = Shape::groups;
    constexpr bool too_many = groups > 1 && Shape::chunks > FactorTile::most_chunks;
    constexpr int steps = too_many ? FactorTile::most_chunks : Shape::chunks;
    constexpr bool has_high = tile > FactorTile::rows / 2;
    const int warp = static_cast<int>(threadIdx.x) / 32, columns = args.columns;
    const int first_group = static_cast<int>(blockIdx.y) * groups;
    constexpr int all_chunks = warps * FactorTile::chunk;
    const int my_columns = (columns + all_chunks - 1) / all_chunks * FactorTile::chunk;
    const int begin = warp * my_columns, end = min(begin + my_columns, columns);
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
                if (row < tile) shared.part[warp][row][g * FactorTile::group + factor] = value;
            });
        wait_for_earlier_kernels();  // warps without columns, too: kernels before may read `reduced`
        __syncthreads();
        for (int at = static_cast<int>(threadIdx.x); at < tile * Shape::factors; at += threads) {
            const int i = at / Shape::factors, k = at % Shape::factors;
            if ((same >> i & 1) == 0 || k >= count * FactorTile::group) continue;
            float all = 0;
#pragma unroll
            for (int w = 0; w < warps; ++w) all += shared.part[w][i][k];
            all = limited(all / reduced_scale, args.limit);
            const __half upper = __float2half_rn(all);
            const int factor = first_group * FactorTile::group + k;
            __half* const to =
                static_cast<__half*>(args.reduced) +
                (static_cast<std::int64_t>(shared.items.place[i]) * args.matrices * args.most_rank +
                 factor / reduced_group * reduced_group) *
                    2 +
                factor % reduced_group;
            to[0] = upper;
            // What is infinite already stays so.
            to[reduced_group] = __hisinf(upper) != 0 ? __half{} : __float2half_rn(all - __half2float(upper));
        }
        __syncthreads();
    });
}

__device__ __forceinline__ const AdapterArgs& factors_of(const AdapterArgs& args) {
    return args;
}
__device__ __forceinline__ const AdapterArgs& factors_of(const ExpertAdapterArgs& args) {
    return args.factors;
}

// Args: AdapterArgs for rows, ExpertAdapterArgs for sorted pairs.
template <class Args, class Shape, bool whole>
__global__ void __launch_bounds__(threads, 1) reduce(const __grid_constant__ Args args) {
    __shared__ ReduceShared<Shape> shared;
    let_next_kernel_begin();
    find_items(args, static_cast<int>(blockIdx.x) * Shape::tile, shared.items);
    __syncthreads();
    reduce_tile<Shape, whole>(factors_of(args), shared);
    wait_for_earlier_kernels();  // if no item has factors
}

template <class Shape, class Args>
void launch_reduce(const char* name, const Args& args, const AdapterArgs& factors, const Stream& stream) {
    const int numbers = factors.matrices * factors.most_rank;
    const LaunchShape shape{(factors.rows + Shape::tile - 1) / Shape::tile, threads, 0,
                            (numbers + Shape::factors - 1) / Shape::factors};
    launch_early(name, factors.columns % 8 == 0 ? reduce<Args, Shape, true> : reduce<Args, Shape, false>,
                 shape, stream, args);
}

template <class Args>
void launch_reduce(const char* name, bool few, const Args& args, const AdapterArgs& factors,
                   const Stream& stream) {
    if (few) return launch_reduce<OneItem>(name, args, factors, stream);
    factors.rows <= most_few_items ? launch_reduce<FewItems>(name, args, factors, stream)
                                   : launch_reduce<ManyItems>(name, args, factors, stream);
}

}  // namespace

void launch_reduce_rows(const AdapterArgs& args, const Stream& stream) {
    launch_reduce("adapters", few_adapted_rows(args.rows), args, args, stream);
}

void launch_reduce_pairs(const ExpertAdapterArgs& args, const Stream& stream) {
    launch_reduce("adapters of experts", few_adapted_pairs(args), args, args.factors, stream);
}

}  // namespace voltpile::llm
