// The products with the second factors of adapters, and what is done with them.
#include "llm/ops/cuda/adapters.h"

#include <cuda_fp16.h>

#include <algorithm>

#include "llm/ops/cuda/adapted_items.cuh"
#include "llm/ops/cuda/adapters_reduce.h"
#include "llm/ops/cuda/experts.h"
#include "llm/ops/cuda/half.cuh"

namespace voltpile::llm {

namespace {

constexpr int threads = 256;
constexpr int most_rank = 256;
constexpr int outputs_each = 2;  // neighbors that a thread computes

struct Two {
    float value[2];
};
// Numbers at `from` and after it, of which `count` exist. even: both exist, and the first is aligned to both.
template <bool even>
__device__ __forceinline__ Two load_two(const __half* from, int count) {
    if constexpr (even) {
        const float2 two = __half22float2(*reinterpret_cast<const __half2*>(from));
        return {two.x, two.y};
    }
    return {count > 0 ? __half2float(from[0]) : 0.0f, count > 1 ? __half2float(from[1]) : 0.0f};
}
template <bool even>
__device__ __forceinline__ void store_two(__half* to, int count, float first, float second) {
    if constexpr (even) {
        *reinterpret_cast<__half2*>(to) = __floats2half2_rn(first, second);
    } else {
        if (count > 0) to[0] = __float2half_rn(first);
        if (count > 1) to[1] = __float2half_rn(second);
    }
}
template <bool even>
__device__ __forceinline__ Two load_two(const float* from, int count) {
    if constexpr (even) {
        const float2 two = *reinterpret_cast<const float2*>(from);
        return {two.x, two.y};
    }
    return {count > 0 ? from[0] : 0.0f, count > 1 ? from[1] : 0.0f};
}
template <bool even>
__device__ __forceinline__ void store_two(float* to, int count, float first, float second) {
    if constexpr (even) {
        *reinterpret_cast<float2*>(to) = make_float2(first, second);
    } else {
        if (count > 0) to[0] = first;
        if (count > 1) to[1] = second;
    }
}

// The products of a thread: of `matrices` matrices, the tile's items and two outputs each.
template <int matrices, int tile>
using Products = float[matrices][tile][outputs_each];

template <int matrices, int tile>
struct ExpandShared {
    TileItems items;
    float reduced[matrices][most_rank][tile];
};

// Sets reduced to the sums of the sections of the items `same`, of 0 for others. All threads call it; a
// barrier must follow.
template <int matrices, int tile>
__device__ __forceinline__ void join_sections(const AdapterArgs& args, int matrix, int rank, int first,
                                              unsigned same, float (&reduced)[matrices][most_rank][tile]) {
    const std::int64_t width = args.matrices * args.most_rank;
    const int sections = sections_of(args.columns);
    for (int at = static_cast<int>(threadIdx.x); at < matrices * rank * tile; at += threads) {
        const int i = at / (matrices * rank), k = at % (matrices * rank);
        float sum = 0;
        if ((same >> i & 1) != 0) {
            const float* from = args.reduced + (first + i) * width + matrix * rank + k;
            for (int s = 0; s < sections; ++s) sum += from[s * args.rows * width];
        }
        reduced[k / rank][k % rank][i] = sum;
    }
}

// product[m][i][n] = sum_k b[k, j + n] * reduced[i, k], of the matrices from `matrix` on, with j = output[m]
// of the first two outputs of which `count` exist. early: the earlier kernels may still run.
template <int matrices, int tile, bool even>
__device__ __forceinline__ void multiply_tile(const AdapterArgs& args, const AdapterEntry& entry, int matrix,
                                              const int (&output)[matrices], int count, int first,
                                              unsigned same, ExpandShared<matrices, tile>& shared,
                                              Products<matrices, tile>& product) {
    constexpr int steps = 8;  // the rank is a multiple of it
    const int all = args.row_begin[args.matrices];
#pragma unroll
    for (int m = 0; m < matrices; ++m) {
#pragma unroll
        for (int i = 0; i < tile; ++i) product[m][i][0] = product[m][i][1] = 0;
    }
    const auto* const b = static_cast<const __half*>(entry.b);
    for (int k = 0; k < entry.rank; k += steps) {
        Two w[matrices][steps];
#pragma unroll
        for (int m = 0; m < matrices; ++m) {
#pragma unroll
            for (int s = 0; s < steps; ++s)
                w[m][s] = count > 0 ? load_two<even>(b + static_cast<std::int64_t>(k + s) * all + output[m],
                                                     count)
                                    : Two{};
        }
        if (k == 0) {
            wait_for_earlier_kernels();
            join_sections<matrices, tile>(args, matrix, entry.rank, first, same, shared.reduced);
            __syncthreads();
        }
#pragma unroll
        for (int s = 0; s < steps; ++s) {
#pragma unroll
            for (int m = 0; m < matrices; ++m) {
#pragma unroll
                for (int i = 0; i < tile; ++i) {
                    const float value = shared.reduced[m][k + s][i];
#pragma unroll
                    for (int n = 0; n < outputs_each; ++n)
                        product[m][i][n] = fmaf(w[m][s].value[n], value, product[m][i][n]);
                }
            }
        }
    }
    __syncthreads();  // all have used reduced
}

// Of a thread: the first of its outputs in matrix blockIdx.z, and how many of them exist.
__device__ __forceinline__ int output_in_matrix() {
    return (static_cast<int>(blockIdx.y) * threads + static_cast<int>(threadIdx.x)) * outputs_each;
}

// out[row, j] += sum_k b[k, j] * reduced[r, k].
template <class Out, int tile, bool even>
__global__ void __launch_bounds__(threads) add_rows(const __grid_constant__ AdapterArgs args) {
    __shared__ ExpandShared<1, tile> shared;
    const int first = static_cast<int>(blockIdx.x) * tile, matrix = static_cast<int>(blockIdx.z);
    const int begin = args.row_begin[matrix], end = args.row_begin[matrix + 1];
    const int output[1] = {begin + output_in_matrix()}, count = end - output[0];
    let_next_kernel_begin();
    find_items<tile>(args, first, shared.items);
    __syncthreads();
    for_each_factors<tile, false>(shared.items, [&](int factors, unsigned same) {
        const AdapterEntry entry = args.adapters[factors];
        if (entry.rank == 0) return;
        Products<1, tile> product;
        multiply_tile<1, tile, even>(args, entry, matrix, output, count, first, same, shared, product);
        if (count <= 0) return;
#pragma unroll
        for (int i = 0; i < tile; ++i) {
            if ((same >> i & 1) == 0) continue;
            Out* const to = static_cast<Out*>(args.out) +
                            static_cast<std::int64_t>(shared.items.row[i]) * args.out_columns + output[0];
            const Two former = load_two<even>(to, count);
            store_two<even>(to, count, former.value[0] + product[0][i][0],
                            former.value[1] + product[0][i][1]);
        }
    });
    wait_for_earlier_kernels();  // if no item has factors
}

// out[row, j] = activation(g) * u, of the products of gate and up with those of the factors added.
template <int tile, bool even>
__global__ void __launch_bounds__(threads)
    gate_rows(const __grid_constant__ AdapterArgs args, const __grid_constant__ GateArgs gate) {
    __shared__ ExpandShared<2, tile> shared;
    const int first = static_cast<int>(blockIdx.x) * tile, j = output_in_matrix();
    const int output[2] = {j, gate.columns + j}, count = gate.columns - j;
    // Of the gate's product, and how far that of up is from it.
    const int place = gate.woven ? j / 8 * 16 + j % 8 : j, apart = gate.woven ? 8 : gate.columns;
    let_next_kernel_begin();
    find_items<tile>(args, first, shared.items);
    __syncthreads();
    for_each_factors<tile, true>(shared.items, [&](int factors, unsigned same) {
        const AdapterEntry entry = factors < 0 ? AdapterEntry{} : args.adapters[factors];
        Products<2, tile> product;
        multiply_tile<2, tile, even>(args, entry, 0, output, count, first, same, shared, product);
        if (entry.rank == 0) wait_for_earlier_kernels();
        if (count <= 0) return;
#pragma unroll
        for (int i = 0; i < tile; ++i) {
            if ((same >> i & 1) == 0) continue;
            const std::int64_t row = shared.items.row[i];
            const __half* const from =
                static_cast<const __half*>(gate.products) + row * 2 * gate.columns + place;
            const Two g = load_two<even>(from, count), u = load_two<even>(from + apart, count);
            float result[outputs_each];
#pragma unroll
            for (int n = 0; n < outputs_each; ++n)
                result[n] = limited(
                    gated_value(gate.activation, limited(g.value[n] + product[0][i][n], gate.limit),
                                limited(u.value[n] + product[1][i][n], gate.limit)),
                    gate.limit);
            store_two<even>(static_cast<__half*>(args.out) + row * args.out_columns + j, count, result[0],
                            result[1]);
        }
    });
    wait_for_earlier_kernels();
}

// out[pair - out_first, j] = sum_k b[k, j] * reduced[pair, k], for outputs from out_begin on; 0 for pairs
// without factors.
template <int tile, bool even>
__global__ void __launch_bounds__(threads)
    store_pairs(const __grid_constant__ ExpertAdapterArgs args, float* out, int out_begin, int out_columns) {
    __shared__ ExpandShared<1, tile> shared;
    const AdapterArgs& of = args.factors;
    const int first = static_cast<int>(blockIdx.x) * tile, matrix = static_cast<int>(blockIdx.z);
    const int output[1] = {of.row_begin[matrix] + out_begin + output_in_matrix()};
    const int count = min(of.row_begin[matrix + 1], out_begin + out_columns) - output[0];
    begin_after_earlier_kernels();
    find_items<tile, true>(args, first, shared.items);
    __syncthreads();
    for_each_factors<tile, true>(shared.items, [&](int factors, unsigned same) {
        const AdapterEntry entry = factors < 0 ? AdapterEntry{} : of.adapters[factors];
        Products<1, tile> product;
        multiply_tile<1, tile, even>(of, entry, matrix, output, count, first, same, shared, product);
        if (count <= 0) return;
#pragma unroll
        for (int i = 0; i < tile; ++i) {
            if ((same >> i & 1) == 0) continue;
            const std::int64_t pair = args.first_pair + first + i;
            store_two<even>(out + pair * out_columns + output[0] - out_begin, count, product[0][i][0],
                            product[0][i][1]);
        }
    });
}

// out[row, j] += the weighted sum over the row's pairs, of one matrix. Each thread has an output j. The same
// order of sums as store_pairs and then launch_sum_pairs().
__global__ void __launch_bounds__(threads) add_pairs(const __grid_constant__ ExpertAdapterArgs args) {
    extern __shared__ float reduced[];  // (used, most_rank), of the row's pairs
    const AdapterArgs& of = args.factors;
    const Routing& routing = args.routing;
    const int row = static_cast<int>(blockIdx.x), used = routing.used;
    const int j = static_cast<int>(blockIdx.y) * threads + static_cast<int>(threadIdx.x);
    begin_after_earlier_kernels();
    const int adapter = of.adapter_of[row];
    if (adapter < 0) return;
    const std::int64_t width = of.most_rank;
    for (int at = static_cast<int>(threadIdx.x); at < used * of.most_rank; at += threads) {
        const int pair = row * used + at / of.most_rank;
        float sum = 0;
        if (routing.expert[pair] >= 0)
            for (int s = 0; s < sections_of(of.columns); ++s)
                sum += of.reduced[(static_cast<std::int64_t>(s) * of.rows + routing.place[pair]) * width +
                                  at % of.most_rank];
        reduced[at] = sum;
    }
    __syncthreads();
    const int outputs = of.row_begin[1];
    if (j >= outputs) return;
    float sum = 0;
    for (int k = 0; k < used; ++k) {
        const int pair = row * used + k, expert = routing.expert[pair];
        if (expert < 0) continue;
        const AdapterEntry entry = of.adapters[adapter * routing.experts + expert];
        const auto* const b = static_cast<const __half*>(entry.b) + j;
        float product = 0;
#pragma unroll 8
        for (int i = 0; i < entry.rank; ++i)
            product = fmaf(__half2float(b[static_cast<std::int64_t>(i) * outputs]),
                           reduced[k * of.most_rank + i], product);
        sum = fmaf(routing.weight[pair], product, sum);
    }
    static_cast<float*>(of.out)[static_cast<std::int64_t>(row) * of.out_columns + j] += sum;
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
// Whether the outputs of every matrix begin at even columns.
bool all_even(const AdapterArgs& args) {
    return std::all_of(args.row_begin, args.row_begin + args.matrices + 1,
                       [](int begin) { return begin % 2 == 0; }) &&
           args.out_columns % 2 == 0;
}

LaunchShape shape_of(int items, int tile, int outputs, int matrices) {
    return {parts(items, tile), threads, 0, parts(outputs, threads * outputs_each), matrices};
}

template <class Out, int tile>
void launch_add_rows(const AdapterArgs& args, const Stream& stream) {
    launch_early("adapters", all_even(args) ? add_rows<Out, tile, true> : add_rows<Out, tile, false>,
                 shape_of(args.rows, tile, most_outputs(args), args.matrices), stream, args);
}

template <int tile>
void launch_gate_rows(const AdapterArgs& args, const GateArgs& gate, const Stream& stream) {
    launch_early("gating", all_even(args) ? gate_rows<tile, true> : gate_rows<tile, false>,
                 shape_of(args.rows, tile, gate.columns, 1), stream, args, gate);
}

template <int tile>
void launch_store_pairs(const ExpertAdapterArgs& args, float* out, int out_begin, int out_columns,
                        int outputs, const Stream& stream) {
    const bool even = all_even(args.factors) && (out_begin | out_columns) % 2 == 0;
    launch_early("adapters of experts", even ? store_pairs<tile, true> : store_pairs<tile, false>,
                 shape_of(args.factors.rows, tile, outputs, args.factors.matrices), stream, args, out,
                 out_begin, out_columns);
}

}  // namespace

void launch_add_adapters(const AdapterArgs& args, bool float_out, const Stream& stream) {
    launch_reduce_rows(args, stream);
    if (few_adapted_rows(args.rows))
        float_out ? launch_add_rows<float, 1>(args, stream) : launch_add_rows<__half, 1>(args, stream);
    else
        float_out ? launch_add_rows<float, 16>(args, stream) : launch_add_rows<__half, 16>(args, stream);
}

void launch_adapted_gate(const AdapterArgs& args, const GateArgs& gate, const Stream& stream) {
    if (args.most_rank > 0) launch_reduce_rows(args, stream);
    few_adapted_rows(args.rows) ? launch_gate_rows<1>(args, gate, stream)
                                : launch_gate_rows<8>(args, gate, stream);
}

void launch_adapt_experts(const ExpertAdapterArgs& args, const Stream& stream) {
    const AdapterArgs& of = args.factors;
    const bool few = few_expert_pairs(of.rows, args.routing.experts);
    if (of.most_rank > 0) launch_reduce_pairs(args, true, few, stream);
    auto* const out = static_cast<float*>(of.out);
    few ? launch_store_pairs<1>(args, out, 0, of.out_columns, most_outputs(of), stream)
        : launch_store_pairs<16>(args, out, 0, of.out_columns, most_outputs(of), stream);
}

void launch_add_expert_adapters(const ExpertAdapterArgs& args, const AddedExperts& to, const Stream& stream) {
    const AdapterArgs& of = args.factors;
    const int outputs = of.row_begin[1];
    launch_reduce_pairs(args, false, to.products_columns == 0, stream);
    if (to.products_columns == 0) {
        const auto shared = static_cast<std::size_t>(args.routing.used * of.most_rank) * sizeof(float);
        const LaunchShape shape{to.batch_rows, threads, shared, parts(outputs, threads)};
        return launch_early("adapters of experts", add_pairs, shape, stream, args);
    }
    Routing adds = args.routing;
    adds.adds = true;
    adds.shared = nullptr;
    for (int begin = 0; begin < outputs; begin += to.products_columns) {
        const int columns = std::min(to.products_columns, outputs - begin);
        launch_store_pairs<16>(args, to.products, begin, columns, columns, stream);
        launch_sum_pairs(to.products, nullptr, 0, adds, to.batch_rows, columns,
                         static_cast<float*>(of.out) + begin, of.out_columns, stream);
    }
}

}  // namespace voltpile::llm
