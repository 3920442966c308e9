// The products with the second factors of adapters, and what is done with them.
#include "llm/ops/cuda/adapters.h"

#include <cuda_fp16.h>

#include <algorithm>

#include "llm/ops/cuda/adapted_items.cuh"
#include "llm/ops/cuda/adapters_reduce.h"
#include "llm/ops/cuda/expand_tile.cuh"
#include "llm/ops/cuda/experts.h"
#include "llm/ops/cuda/half.cuh"

namespace voltpile::llm {

namespace {

constexpr int warps = 8, threads = 32 * warps;
constexpr int block_outputs = warps * ExpandTile::outputs;
constexpr int neighbors = ExpandTile::lane_outputs;  // that a lane computes in a row

// Up to `neighbors` numbers from `at` on, of which `count` exist; whole: all or none, and `at` is aligned.
template <bool whole>
__device__ __forceinline__ void load_neighbors(const float* at, int count, float (&to)[neighbors]) {
#pragma unroll
    for (int n = 0; n < neighbors; n += 4) {
        if constexpr (whole) {
            const float4 four = *reinterpret_cast<const float4*>(at + n);
            to[n] = four.x, to[n + 1] = four.y, to[n + 2] = four.z, to[n + 3] = four.w;
        } else {
#pragma unroll
            for (int i = n; i < n + 4; ++i) to[i] = i < count ? at[i] : 0.0f;
        }
    }
}
template <bool whole>
__device__ __forceinline__ void load_neighbors(const __half* at, int count, float (&to)[neighbors]) {
#pragma unroll
    for (int n = 0; n < neighbors; n += 4) {
        if constexpr (whole) {
            const uint2 bits = *reinterpret_cast<const uint2*>(at + n);
            const float2 low = __half22float2(reinterpret_cast<const __half2&>(bits.x)),
                         high = __half22float2(reinterpret_cast<const __half2&>(bits.y));
            to[n] = low.x, to[n + 1] = low.y, to[n + 2] = high.x, to[n + 3] = high.y;
        } else {
#pragma unroll
            for (int i = n; i < n + 4; ++i) to[i] = i < count ? __half2float(at[i]) : 0.0f;
        }
    }
}
template <bool whole>
__device__ __forceinline__ void store_neighbors(float* at, int count, const float (&from)[neighbors]) {
#pragma unroll
    for (int n = 0; n < neighbors; n += 4) {
        if constexpr (whole) {
            *reinterpret_cast<float4*>(at + n) =
                make_float4(from[n], from[n + 1], from[n + 2], from[n + 3]);
        } else {
#pragma unroll
            for (int i = n; i < n + 4; ++i)
                if (i < count) at[i] = from[i];
        }
    }
}
template <bool whole>
__device__ __forceinline__ void store_neighbors(__half* at, int count, const float (&from)[neighbors]) {
#pragma unroll
    for (int n = 0; n < neighbors; n += 4) {
        if constexpr (whole) {
            const __half2 low = __floats2half2_rn(from[n], from[n + 1]),
                          high = __floats2half2_rn(from[n + 2], from[n + 3]);
            *reinterpret_cast<uint2*>(at + n) = make_uint2(reinterpret_cast<const std::uint32_t&>(low),
                                                           reinterpret_cast<const std::uint32_t&>(high));
        } else {
#pragma unroll
            for (int i = n; i < n + 4; ++i)
                if (i < count) at[i] = __float2half_rn(from[i]);
        }
    }
}

__host__ __device__ constexpr int tiles_in(int items) {
    return (items + ExpandTile::rows - 1) / ExpandTile::rows;
}

// The reduced numbers of a tile of items, of some ranks: scale * (high + low), both fp16, with a power of two
// for each item and matrix. So the products have 21 bits and the range of fp32.
template <int matrices, int tile>
struct ExpandShared {
    static constexpr int rows = tiles_in(tile) * ExpandTile::rows;
    TileItems<tile> items;
    alignas(16) __half high[matrices][rows][ExpandTile::stride], low[matrices][rows][ExpandTile::stride];
    float scale[matrices][rows];
};

// Sums the sections for the items `same`, from rank `first` on; 0 for other items. All threads call it.
template <int matrices, int tile>
__device__ __forceinline__ void join_sections(const AdapterArgs& args, int places, int matrix, int rank,
                                              int first, unsigned same,
                                              ExpandShared<matrices, tile>& shared) {
    constexpr int each = (matrices * tile + warps - 1) / warps;  // rows of a warp
    const int lane = ExpandTile::lane(), warp = static_cast<int>(threadIdx.x) / 32;
    const std::int64_t width = args.matrices * args.most_rank;
    const float* from[each];
    float value[each] = {};
#pragma unroll
    for (int n = 0; n < each; ++n) {
        const int at = warp + n * warps, i = at % tile, k = first + lane;
        const bool wanted = at < matrices * tile && (same >> i & 1) != 0 && k < rank;
        from[n] = wanted ? args.reduced + shared.items.place[i] * width + (matrix + at / tile) * rank + k
                         : nullptr;
    }
    // The loads of all rows at once.
#pragma unroll 2
    for (int s = 0; s < sections_of(args.columns); ++s) {
#pragma unroll
        for (int n = 0; n < each; ++n)
            if (from[n] != nullptr) value[n] += from[n][s * places * width];
    }
#pragma unroll
    for (int n = 0; n < each; ++n) {
        const int at = warp + n * warps, i = at % tile, m = at / tile;
        if (at >= matrices * tile) break;
        float most = fabsf(value[n]);
        for (int offset = 16; offset > 0; offset /= 2)
            most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, offset));
        // The largest becomes 2^8 to 2^9. If it is not finite, the products are not either.
        const bool scales = most > 0 && isfinite(most);
        const int power = scales ? max((__float_as_int(most) >> 23) - 127 - 8, -120) : 0;
        const float scaled = value[n] * __int_as_float((127 - power) << 23);
        const __half high = __float2half_rn(scaled);
        shared.high[m][i][lane] = high;
        shared.low[m][i][lane] = __float2half_rn(scales ? scaled - __half2float(high) : 0.0f);
        if (lane == 0) shared.scale[m][i] = __int_as_float((127 + power) << 23);
    }
}

// Of a warp's outputs in a matrix: rows `from` to 31 of them, of which `count` exist, of the second factor.
__device__ __forceinline__ void load_factor(const AdapterEntry& entry, std::int64_t first_output, int count,
                                            int first_rank, uint4 (&to)[ExpandTile::loads]) {
#pragma unroll
    for (int i = 0; i < ExpandTile::loads; ++i) {
        const int output = ExpandTile::load_output(i), rank = first_rank + ExpandTile::load_rank(i);
        to[i] = make_uint4(0, 0, 0, 0);
        if (output < count && rank < entry.rank)
            to[i] = *reinterpret_cast<const uint4*>(static_cast<const __half*>(entry.b) +
                                                    (first_output + output) * entry.rank + rank);
    }
}

// The outputs of a lane: of `matrices` matrices, and rows of the tile.
template <int matrices, int tile>
using Products = float[matrices][tiles_in(tile)][ExpandTile::sums];

// product += the products of a warp's outputs and the items `same`, with the factors of `entry`. output: the
// first of the warp's in each of the matrices from `matrix` on; count: how many exist. begin(): sets product
// first, once earlier kernels have ended; its loads run beside others. All threads call it.
template <int matrices, int tile, class Begin>
__device__ __forceinline__ void multiply_tile(const AdapterArgs& args, int places, const AdapterEntry& entry,
                                              int matrix, const int (&output)[matrices], int count,
                                              unsigned same, ExpandShared<matrices, tile>& shared,
                                              Products<matrices, tile>& product, const Begin& begin) {
    uint4 factor[matrices][ExpandTile::loads];
#pragma unroll
    for (int m = 0; m < matrices; ++m) load_factor(entry, output[m], count, 0, factor[m]);
    wait_for_earlier_kernels();
    begin();
#pragma unroll 1
    for (int first = 0; first < entry.rank; first += ExpandTile::ranks) {
        if (first > 0) {
            __syncthreads();  // all have used the former ranks
#pragma unroll
            for (int m = 0; m < matrices; ++m) load_factor(entry, output[m], count, first, factor[m]);
        }
        join_sections<matrices, tile>(args, places, matrix, entry.rank, first, same, shared);
        __syncthreads();
#pragma unroll
        for (int m = 0; m < matrices; ++m) {
#pragma unroll
            for (int t = 0; t < tiles_in(tile); ++t) {
                constexpr int rows = ExpandTile::rows;
                float sum[ExpandTile::sums] = {};
                ExpandTile::multiply(sum, factor[m], shared.high[m][t * rows]);
                ExpandTile::multiply(sum, factor[m], shared.low[m][t * rows]);
#pragma unroll
                for (int r = 0; r < ExpandTile::lane_rows; ++r) {
                    const float scale = shared.scale[m][t * rows + ExpandTile::row(r)];
#pragma unroll
                    for (int n = 0; n < neighbors; ++n) {
                        const int at = ExpandTile::index(r, n);
                        product[m][t][at] = fmaf(scale, sum[at], product[m][t][at]);
                    }
                }
            }
        }
    }
    __syncthreads();  // all have used them
}

// Calls work(item, index of the tile, row of the lane) for each row of a lane that is an item of `same`.
template <int tile, class Work>
__device__ __forceinline__ void each_row(unsigned same, const Work& work) {
#pragma unroll
    for (int t = 0; t < tiles_in(tile); ++t) {
#pragma unroll
        for (int r = 0; r < ExpandTile::lane_rows; ++r) {
            const int item = t * ExpandTile::rows + ExpandTile::row(r);
            if (item < tile && (same >> item & 1) != 0) work(item, t, r);
        }
    }
}
__device__ __forceinline__ void take(const float (&product)[ExpandTile::sums], int r,
                                     float (&to)[neighbors]) {
#pragma unroll
    for (int n = 0; n < neighbors; ++n) to[n] = product[ExpandTile::index(r, n)];
}
__device__ __forceinline__ void put(float (&product)[ExpandTile::sums], int r,
                                    const float (&from)[neighbors]) {
#pragma unroll
    for (int n = 0; n < neighbors; ++n) product[ExpandTile::index(r, n)] = from[n];
}

// The first output of a warp in its matrix.
__device__ __forceinline__ int warp_output() {
    return static_cast<int>(blockIdx.y) * block_outputs +
           static_cast<int>(threadIdx.x) / 32 * ExpandTile::outputs;
}

// out[row, j] += sum_k b[j, k] * reduced[row, k], of matrix blockIdx.z.
template <class Out, int tile, bool whole>
__global__ void __launch_bounds__(threads, 2) add_rows(const __grid_constant__ AdapterArgs args) {
    __shared__ ExpandShared<1, tile> shared;
    const int first = static_cast<int>(blockIdx.x) * tile, matrix = static_cast<int>(blockIdx.z);
    const int begin = args.row_begin[matrix], end = args.row_begin[matrix + 1];
    const int output[1] = {begin + warp_output()}, j = output[0] + ExpandTile::output();
    let_next_kernel_begin();
    find_items(args, first, shared.items);
    __syncthreads();
    for_each_factors<false>(shared.items, [&](int factors, unsigned same) {
        const AdapterEntry entry = args.adapters[factors];
        if (entry.rank == 0) return;
        Products<1, tile> product;
        const auto place = [&](int item) {
            return static_cast<Out*>(args.out) +
                   static_cast<std::int64_t>(shared.items.row[item]) * args.out_columns + j;
        };
        multiply_tile<1, tile>(args, args.batch_rows, entry, matrix, output, end - output[0], same, shared,
                               product, [&] {
                                   each_row<tile>(same, [&](int item, int t, int r) {
                                       float former[neighbors] = {};
                                       if (j < end) load_neighbors<whole>(place(item), end - j, former);
                                       put(product[0][t], r, former);
                                   });
                               });
        each_row<tile>(same, [&](int item, int t, int r) {
            float sum[neighbors];
            take(product[0][t], r, sum);
            if (j < end) store_neighbors<whole>(place(item), end - j, sum);
        });
    });
    wait_for_earlier_kernels();  // if no item has factors
}

// out[row, j] = activation(g) * u, of the products of gate and up with those of the factors added.
template <int tile, bool whole>
__global__ void __launch_bounds__(threads, 2)
    gate_rows(const __grid_constant__ AdapterArgs args, const __grid_constant__ GateArgs gate) {
    __shared__ ExpandShared<2, tile> shared;
    const int first = static_cast<int>(blockIdx.x) * tile, end = gate.columns;
    const int output[2] = {warp_output(), gate.columns + warp_output()};
    const int j = output[0] + ExpandTile::output();
    // Of the gate's products, and how far those of up are from them.
    const int place = gate.woven ? j / 8 * 16 + j % 8 : j, apart = gate.woven ? 8 : gate.columns;
    let_next_kernel_begin();
    find_items(args, first, shared.items);
    __syncthreads();
    for_each_factors<true>(shared.items, [&](int factors, unsigned same) {
        const AdapterEntry entry = factors < 0 ? AdapterEntry{} : args.adapters[factors];
        Products<2, tile> product;
        multiply_tile<2, tile>(
            args, args.batch_rows, entry, 0, output, end - output[0], same, shared, product, [&] {
                each_row<tile>(same, [&](int item, int t, int r) {
                    const __half* const from =
                        static_cast<const __half*>(gate.products) +
                        static_cast<std::int64_t>(shared.items.row[item]) * 2 * gate.columns + place;
#pragma unroll
                    for (int m = 0; m < 2; ++m) {
                        float former[neighbors] = {};
                        if (j < end) load_neighbors<whole>(from + m * apart, end - j, former);
                        put(product[m][t], r, former);
                    }
                });
            });
        each_row<tile>(same, [&](int item, int t, int r) {
            float g[neighbors], u[neighbors];
            take(product[0][t], r, g);
            take(product[1][t], r, u);
#pragma unroll
            for (int n = 0; n < neighbors; ++n)
                g[n] = limited(gated_value(gate.activation, limited(g[n], gate.limit),
                                           limited(u[n], gate.limit)),
                               gate.limit);
            if (j < end)
                store_neighbors<whole>(
                    static_cast<__half*>(args.out) +
                        static_cast<std::int64_t>(shared.items.row[item]) * args.out_columns + j,
                    end - j, g);
        });
    });
    wait_for_earlier_kernels();
}

// out[pair, j] = sum_k b[j, k] * reduced[pair, k], of matrix blockIdx.z, for the outputs of all matrices from
// out_begin on, of which there are out_columns; 0 for pairs without factors.
template <int tile, bool whole>
__global__ void __launch_bounds__(threads, 2)
    store_pairs(const __grid_constant__ ExpertAdapterArgs args, float* out, int out_begin, int out_columns) {
    __shared__ ExpandShared<1, tile> shared;
    const AdapterArgs& of = args.factors;
    const int first = static_cast<int>(blockIdx.x) * tile, matrix = static_cast<int>(blockIdx.z);
    const int begin = max(of.row_begin[matrix], out_begin),
              end = min(of.row_begin[matrix + 1], out_begin + out_columns);
    const int output[1] = {begin + warp_output()}, j = output[0] + ExpandTile::output();
    begin_after_earlier_kernels();
    find_items(args, first, shared.items);
    __syncthreads();
    for_each_factors<true>(shared.items, [&](int factors, unsigned same) {
        const AdapterEntry entry = factors < 0 ? AdapterEntry{} : of.adapters[factors];
        Products<1, tile> product = {};
        multiply_tile<1, tile>(of, of.rows, entry, matrix, output, end - output[0], same, shared, product,
                               [] {});
        each_row<tile>(same, [&](int item, int t, int r) {
            float sum[neighbors];
            take(product[0][t], r, sum);
            if (j < end)
                store_neighbors<whole>(
                    out + static_cast<std::int64_t>(args.first_pair + first + item) * out_columns + j -
                        out_begin,
                    end - j, sum);
        });
    });
}

int parts(int count, int size) {
    return (count + size - 1) / size;
}

// The widest of the matrices.
int most_outputs(const AdapterArgs& args) {
    int widest = 0;
    for (int m = 0; m < args.matrices; ++m)
        widest = std::max(widest, args.row_begin[m + 1] - args.row_begin[m]);
    return widest;
}
constexpr int whole_columns = 8;
// Whether the outputs of every matrix, and rows of the output, begin at whole groups of neighbors.
bool all_whole(const AdapterArgs& args) {
    return args.out_columns % whole_columns == 0 &&
           std::all_of(args.row_begin, args.row_begin + args.matrices + 1,
                       [](int begin) { return begin % whole_columns == 0; });
}

LaunchShape shape_of(int items, int tile, int outputs, int matrices) {
    return {parts(items, tile), threads, 0, parts(outputs, block_outputs), matrices};
}

template <class Out, int tile>
void launch_add_rows(const AdapterArgs& args, const Stream& stream) {
    launch_early("adapters", all_whole(args) ? add_rows<Out, tile, true> : add_rows<Out, tile, false>,
                 shape_of(args.rows, tile, most_outputs(args), args.matrices), stream, args);
}

template <int tile>
void launch_gate_rows(const AdapterArgs& args, const GateArgs& gate, const Stream& stream) {
    launch_early("gating", all_whole(args) ? gate_rows<tile, true> : gate_rows<tile, false>,
                 shape_of(args.rows, tile, gate.columns, 1), stream, args, gate);
}

template <int tile>
void launch_store_pairs(const ExpertAdapterArgs& args, float* out, int out_begin, int out_columns,
                        const Stream& stream) {
    const bool whole = all_whole(args.factors) && (out_begin | out_columns) % whole_columns == 0;
    const int outputs = std::min(most_outputs(args.factors), out_columns);
    launch_early("adapters of experts", whole ? store_pairs<tile, true> : store_pairs<tile, false>,
                 shape_of(args.factors.rows, tile, outputs, args.factors.matrices), stream, args, out,
                 out_begin, out_columns);
}
void launch_store_pairs(const ExpertAdapterArgs& args, float* out, int out_begin, int out_columns,
                        const Stream& stream) {
    few_adapted_pairs(args) ? launch_store_pairs<1>(args, out, out_begin, out_columns, stream)
                            : launch_store_pairs<32>(args, out, out_begin, out_columns, stream);
}

}  // namespace

void launch_add_adapters(const AdapterArgs& args, bool float_out, const Stream& stream) {
    launch_reduce_rows(args, stream);
    if (few_adapted_rows(args.rows))
        float_out ? launch_add_rows<float, 1>(args, stream) : launch_add_rows<__half, 1>(args, stream);
    else
        float_out ? launch_add_rows<float, 32>(args, stream) : launch_add_rows<__half, 32>(args, stream);
}

void launch_adapted_gate(const AdapterArgs& args, const GateArgs& gate, const Stream& stream) {
    if (args.most_rank > 0) launch_reduce_rows(args, stream);
    few_adapted_rows(args.rows) ? launch_gate_rows<1>(args, gate, stream)
                                : launch_gate_rows<16>(args, gate, stream);
}

void launch_adapt_experts(const ExpertAdapterArgs& args, const Stream& stream) {
    const AdapterArgs& of = args.factors;
    if (of.most_rank > 0) launch_reduce_pairs(args, stream);
    launch_store_pairs(args, static_cast<float*>(of.out), 0, of.out_columns, stream);
}

void launch_add_expert_adapters(const ExpertAdapterArgs& args, int batch_rows, float* products, int columns,
                                const Stream& stream) {
    const AdapterArgs& of = args.factors;
    const int outputs = of.row_begin[1];
    launch_reduce_pairs(args, stream);
    Routing adds = args.routing;
    adds.adds = true;
    adds.shared = nullptr;
    for (int begin = 0; begin < outputs; begin += columns) {
        const int some = std::min(columns, outputs - begin);
        launch_store_pairs(args, products, begin, some, stream);
        launch_sum_pairs(products, nullptr, 0, adds, batch_rows, some, static_cast<float*>(of.out) + begin,
                         of.out_columns, stream);
    }
}

}  // namespace voltpile::llm
