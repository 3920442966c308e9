// The products with the second factors of adapters, and what is done with them.
#include "llm/ops/cuda/adapters.h"

#include <cuda_fp16.h>

#include <algorithm>

#include "llm/ops/cuda/adapted_items.cuh"
#include "llm/ops/cuda/adapters_reduce.h"
#include "llm/ops/cuda/expand_tile.cuh"
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
            *reinterpret_cast<float4*>(at + n) = make_float4(from[n], from[n + 1], from[n + 2], from[n + 3]);
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

// What a warp multiplies: its first output among those of all matrices, and how many exist.
struct WarpOutputs {
    int first, count;
};
__device__ __forceinline__ WarpOutputs warp_outputs(int begin, int end) {
    const int first = begin + static_cast<int>(blockIdx.y) * block_outputs +
                      static_cast<int>(threadIdx.x) / 32 * ExpandTile::outputs;
    return {first, end - first};
}

__device__ __forceinline__ void load_factor(const AdapterEntry& entry, const WarpOutputs& outputs, int rank,
                                            uint2 (&to)[ExpandTile::loads]) {
    rank += ExpandTile::loaded_rank();
#pragma unroll
    for (int i = 0; i < ExpandTile::loads; ++i) {
        const int output = ExpandTile::loaded_output(i);
        to[i] = make_uint2(0, 0);
        if (output < outputs.count && rank < entry.rank)
            to[i] = *reinterpret_cast<const uint2*>(
                static_cast<const __half*>(entry.b) +
                static_cast<std::int64_t>(outputs.first + output) * entry.rank + rank);
    }
}

template <int tile>
__device__ __forceinline__ void load_reduced(const AdapterArgs& args, const TileItems<tile>& items,
                                             unsigned same, int matrix, int entry_rank, int rank,
                                             uint4 (&to)[ExpandTile::loaded_rows]) {
    rank += ExpandTile::loaded_rank();
#pragma unroll
    for (int r = 0; r < ExpandTile::loaded_rows; ++r) {
        const int item = ExpandTile::loaded_row(r);
        to[r] = make_uint4(0, 0, 0, 0);
        if (item < tile && (same >> item & 1) != 0 && rank < entry_rank) {
            const std::int64_t first =
                static_cast<std::int64_t>(items.place[item]) * args.matrices * args.most_rank +
                matrix * entry_rank + rank;
            to[r] = *reinterpret_cast<const uint4*>(static_cast<const __half*>(args.reduced) + 2 * first);
        }
    }
}

// product = the products of a warp's outputs, in a matrix, and the items `same`. early: the factor of the
// first step.
template <int tile>
__device__ __forceinline__ void expand(const AdapterArgs& args, const AdapterEntry& entry, int matrix,
                                       const WarpOutputs& outputs, const TileItems<tile>& items,
                                       unsigned same, uint2 (&early)[ExpandTile::loads],
                                       float (&product)[ExpandTile::sums]) {
#pragma unroll
    for (float& each : product) each = 0;
#pragma unroll 1
    for (int rank = 0; rank < entry.rank; rank += ExpandTile::ranks) {
        uint4 x[ExpandTile::loaded_rows];
        if (rank > 0) load_factor(entry, outputs, rank, early);
        load_reduced(args, items, same, matrix, entry.rank, rank, x);
        ExpandTile::multiply(product, x, early);
    }
}

// Calls work(item, row of the lane) for each row of a lane that is an item of `same`.
template <int tile, class Work>
__device__ __forceinline__ void each_row(unsigned same, const Work& work) {
#pragma unroll
    for (int r = 0; r < ExpandTile::lane_rows; ++r) {
        const int item = ExpandTile::row(r);
        if (item < tile && (same >> item & 1) != 0) work(item, r);
    }
}
// to += the numbers of a row of the lane.
__device__ __forceinline__ void add_row(const float (&product)[ExpandTile::sums], int r,
                                        float (&to)[neighbors]) {
#pragma unroll
    for (int n = 0; n < neighbors; ++n) to[n] = fmaf(reduced_scale, product[ExpandTile::index(r, n)], to[n]);
}

// out[row, j] += sum_k b[j, k] * reduced[row, k], of matrix blockIdx.z.
template <class Out, int tile, bool whole>
__global__ void __launch_bounds__(threads) add_rows(const __grid_constant__ AdapterArgs args) {
    __shared__ TileItems<tile> items;
    const int matrix = static_cast<int>(blockIdx.z), end = args.row_begin[matrix + 1];
    const WarpOutputs outputs = warp_outputs(args.row_begin[matrix], end);
    const int j = outputs.first + ExpandTile::output();
    let_next_kernel_begin();
    find_items(args, static_cast<int>(blockIdx.x) * tile, items);
    __syncthreads();
    for_each_factors<false>(items, [&](int factors, unsigned same) {
        const AdapterEntry entry = args.adapters[factors];
        if (entry.rank == 0 || outputs.count <= 0) return;
        uint2 factor[ExpandTile::loads];
        load_factor(entry, outputs, 0, factor);
        wait_for_earlier_kernels();
        const auto place = [&](int item) {
            return static_cast<Out*>(args.out) +
                   static_cast<std::int64_t>(items.row[item]) * args.out_columns + j;
        };
        float sum[ExpandTile::lane_rows][neighbors];
        each_row<tile>(same, [&](int item, int r) {
            if (j < end) load_neighbors<whole>(place(item), end - j, sum[r]);
        });
        float product[ExpandTile::sums];
        expand(args, entry, matrix, outputs, items, same, factor, product);
        each_row<tile>(same, [&](int item, int r) {
            add_row(product, r, sum[r]);
            if (j < end) store_neighbors<whole>(place(item), end - j, sum[r]);
        });
    });
    wait_for_earlier_kernels();  // if no item has factors
}

// g = activation(g) * u, all within the limit.
template <Activation activation>
__device__ __forceinline__ void gate_neighbors(float limit, float (&g)[neighbors],
                                               const float (&u)[neighbors]) {
#pragma unroll
    for (int n = 0; n < neighbors; ++n)
        g[n] = limited(gated_value(activation, limited(g[n], limit), limited(u[n], limit)), limit);
}
__device__ __forceinline__ void gate_neighbors(const GateArgs& gate, float (&g)[neighbors],
                                               const float (&u)[neighbors]) {
    switch (gate.activation) {
        case Activation::Silu:
            return gate_neighbors<Activation::Silu>(gate.limit, g, u);
        case Activation::GeluTanh:
            return gate_neighbors<Activation::GeluTanh>(gate.limit, g, u);
        default:
            return gate_neighbors<Activation::ClampedSwiglu>(gate.limit, g, u);
    }
}

// out[row, j] = activation(g) * u, of the products of gate and up with those of the factors added.
template <int tile, bool whole>
__global__ void __launch_bounds__(threads)
    gate_rows(const __grid_constant__ AdapterArgs args, const __grid_constant__ GateArgs gate) {
    __shared__ TileItems<tile> items;
    const int columns = gate.columns;
    const WarpOutputs of_gate = warp_outputs(0, columns), of_up{columns + of_gate.first, of_gate.count};
    const int j = of_gate.first + ExpandTile::output();
    // Of the gate's products, and how far those of up are from them.
    const int place = gate.woven ? j / 8 * 16 + j % 8 : j, apart = gate.woven ? 8 : columns;
    let_next_kernel_begin();
    find_items(args, static_cast<int>(blockIdx.x) * tile, items);
    __syncthreads();
    for_each_factors<true>(items, [&](int factors, unsigned same) {
        const AdapterEntry entry = factors < 0 ? AdapterEntry{} : args.adapters[factors];
        uint2 gate_factor[ExpandTile::loads], up_factor[ExpandTile::loads];
        load_factor(entry, of_gate, 0, gate_factor);
        load_factor(entry, of_up, 0, up_factor);
        wait_for_earlier_kernels();
        float g[ExpandTile::lane_rows][neighbors], u[ExpandTile::lane_rows][neighbors];
        each_row<tile>(same, [&](int item, int r) {
            if (j >= columns) return;
            const __half* const from = static_cast<const __half*>(gate.products) +
                                       static_cast<std::int64_t>(items.row[item]) * 2 * columns + place;
            load_neighbors<whole>(from, columns - j, g[r]);
            load_neighbors<whole>(from + apart, columns - j, u[r]);
        });
        float gate_product[ExpandTile::sums], up_product[ExpandTile::sums];
        expand(args, entry, 0, of_gate, items, same, gate_factor, gate_product);
        expand(args, entry, 1, of_up, items, same, up_factor, up_product);
        each_row<tile>(same, [&](int item, int r) {
            if (j >= columns) return;
            add_row(gate_product, r, g[r]);
            add_row(up_product, r, u[r]);
            gate_neighbors(gate, g[r], u[r]);
            store_neighbors<whole>(static_cast<__half*>(args.out) +
                                       static_cast<std::int64_t>(items.row[item]) * args.out_columns + j,
                                   columns - j, g[r]);
        });
    });
    wait_for_earlier_kernels();
}

// out[pair, j - out_begin] = sum_k b[j, k] * reduced[pair, k] for those of the outputs out_begin to out_begin
// + out_columns - 1, counted over all matrices, that belong to matrix blockIdx.z. Pairs without factors get
// 0.
template <int tile, bool whole>
__global__ void __launch_bounds__(threads)
    store_pairs(const __grid_constant__ ExpertAdapterArgs args, float* out, int out_begin, int out_columns) {
    __shared__ TileItems<tile> items;
    const AdapterArgs& of = args.factors;
    const int first = static_cast<int>(blockIdx.x) * tile, matrix = static_cast<int>(blockIdx.z);
    const int end = min(of.row_begin[matrix + 1], out_begin + out_columns);
    const WarpOutputs outputs = warp_outputs(max(of.row_begin[matrix], out_begin), end);
    const int j = outputs.first + ExpandTile::output();
    let_next_kernel_begin();
    find_items(args, first, items);
    __syncthreads();
    for_each_factors<true>(items, [&](int factors, unsigned same) {
        const AdapterEntry entry = factors < 0 ? AdapterEntry{} : of.adapters[factors];
        uint2 factor[ExpandTile::loads];
        load_factor(entry, outputs, 0, factor);
        float product[ExpandTile::sums];
        expand(of, entry, matrix, outputs, items, same, factor, product);
        each_row<tile>(same, [&](int item, int r) {
            if (j >= end) return;
            float sum[neighbors] = {};
            add_row(product, r, sum);
            store_neighbors<whole>(
                out + static_cast<std::int64_t>(args.first_pair + first + item) * out_columns + j - out_begin,
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
}  // namespace

void launch_add_adapters(const AdapterArgs& args, bool float_out, const Stream& stream) {
    launch_reduce_rows(args, stream);
    if (few_adapted_rows(args.rows))
        float_out ? launch_add_rows<float, 1>(args, stream) : launch_add_rows<__half, 1>(args, stream);
    else
        float_out ? launch_add_rows<float, ExpandTile::rows>(args, stream)
                  : launch_add_rows<__half, ExpandTile::rows>(args, stream);
}

void launch_adapted_gate(const AdapterArgs& args, const GateArgs& gate, const Stream& stream) {
    if (args.most_rank > 0) launch_reduce_rows(args, stream);
    few_adapted_rows(args.rows) ? launch_gate_rows<1>(args, gate, stream)
                                : launch_gate_rows<ExpandTile::rows>(args, gate, stream);
}

void launch_expand_pairs(const ExpertAdapterArgs& args, float* out, int out_begin, int out_columns,
                         const Stream& stream) {
    if (args.factors.most_rank > 0) launch_reduce_pairs(args, stream);
    few_adapted_pairs(args) ? launch_store_pairs<1>(args, out, out_begin, out_columns, stream)
                            : launch_store_pairs<ExpandTile::rows>(args, out, out_begin, out_columns, stream);
}

}  // namespace voltpile::llm
