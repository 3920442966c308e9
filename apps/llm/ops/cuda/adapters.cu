#include <cuda_fp16.h>

#include "device/launch.cuh"
#include "llm/ops/cuda/adapters.h"
#include "llm/ops/cuda/half.cuh"

namespace voltpile::llm {

namespace {

constexpr int tile_rows = 8;
constexpr int warps = 8;
constexpr int threads = 32 * warps;
constexpr int most_rank = 256;

// Calls work(adapter, rows) for each adapter in a tile of rows; bit i of `rows` is the tile's row i.
template <class Work>
__device__ __forceinline__ void for_each_adapter(const std::int32_t* adapter_of, int first, int rows,
                                                 const Work& work) {
    const int count = min(tile_rows, rows - first);
    unsigned left = 0;
    for (int i = 0; i < count; ++i) left |= adapter_of[first + i] >= 0 ? 1u << i : 0;
    while (left != 0) {
        const std::int32_t adapter = adapter_of[first + __ffs(static_cast<int>(left)) - 1];
        unsigned same = 0;
        for (int i = 0; i < count; ++i)
            same |= (left >> i & 1) != 0 && adapter_of[first + i] == adapter ? 1u << i : 0;
        left &= ~same;
        work(adapter, same);
    }
}

struct Eight {
    float value[8];
};
template <bool whole>
__device__ __forceinline__ Eight load_eight(const __half* from, int left) {
    Eight eight;
    if constexpr (whole) {
        const uint4 bits = *reinterpret_cast<const uint4*>(from);
        const auto* pairs = reinterpret_cast<const __half2*>(&bits);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float2 pair = __half22float2(pairs[i]);
            eight.value[2 * i] = pair.x;
            eight.value[2 * i + 1] = pair.y;
        }
    } else {
#pragma unroll
        for (int i = 0; i < 8; ++i) eight.value[i] = i < left ? __half2float(from[i]) : 0.0f;
    }
    return eight;
}

// reduced[r, k] = sum_c a[k, c] * x[r, c]. Each warp has a row k of a. whole: columns are a multiple of 8.
template <bool whole>
__global__ void __launch_bounds__(threads, 2) reduce(const __grid_constant__ AdapterArgs args) {
    const int first = static_cast<int>(blockIdx.x) * tile_rows;
    const int k = static_cast<int>(blockIdx.y) * warps + static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const auto* x = static_cast<const __half*>(args.x) + static_cast<std::int64_t>(first) * args.columns;
    for_each_adapter(args.adapter_of, first, args.rows, [&](std::int32_t adapter, unsigned rows) {
        const AdapterEntry entry = args.adapters[adapter];
        if (k >= entry.rank * args.matrices) return;
        const auto* a = static_cast<const __half*>(entry.a) + static_cast<std::int64_t>(k) * args.columns;
        float sum[tile_rows] = {};
        for (int c = lane * 8; c < args.columns; c += 256) {
            const Eight w = load_eight<whole>(a + c, args.columns - c);
#pragma unroll
            for (int i = 0; i < tile_rows; ++i) {
                if ((rows >> i & 1) == 0) continue;
                const Eight v =
                    load_eight<whole>(x + static_cast<std::int64_t>(i) * args.columns + c, args.columns - c);
#pragma unroll
                for (int e = 0; e < 8; ++e) sum[i] = fmaf(w.value[e], v.value[e], sum[i]);
            }
        }
#pragma unroll
        for (int i = 0; i < tile_rows; ++i) {
            for (int offset = 16; offset > 0; offset /= 2)
                sum[i] += __shfl_xor_sync(0xffffffffu, sum[i], offset);
            if (lane == 0 && (rows >> i & 1) != 0)
                args.reduced[static_cast<std::int64_t>(first + i) * args.matrices * args.most_rank + k] =
                    sum[i];
        }
    });
}

__device__ __forceinline__ void add_to(float& out, float value) {
    out += value;
}
__device__ __forceinline__ void add_to(__half& out, float value) {
    out = __float2half_rn(__half2float(out) + value);
}

// out[r, j] += sum_k b[k, j] * reduced[r, k]. Each thread has an output j of matrix blockIdx.z.
template <class Out>
__global__ void __launch_bounds__(threads) expand(const __grid_constant__ AdapterArgs args) {
    __shared__ float reduced[most_rank][tile_rows];
    const int first = static_cast<int>(blockIdx.x) * tile_rows;
    const int matrix = static_cast<int>(blockIdx.z);
    const int begin = args.row_begin[matrix], all = args.row_begin[args.matrices];
    const int j = begin + static_cast<int>(blockIdx.y) * threads + static_cast<int>(threadIdx.x);
    for_each_adapter(args.adapter_of, first, args.rows, [&](std::int32_t adapter, unsigned rows) {
        const AdapterEntry entry = args.adapters[adapter];
        __syncthreads();  // all have used the former
        for (int at = static_cast<int>(threadIdx.x); at < entry.rank * tile_rows; at += threads) {
            const int k = at / tile_rows, i = at % tile_rows;
            reduced[k][i] =
                (rows >> i & 1) == 0
                    ? 0.0f
                    : args.reduced[static_cast<std::int64_t>(first + i) * args.matrices * args.most_rank +
                                   matrix * entry.rank + k];
        }
        __syncthreads();
        if (j >= args.row_begin[matrix + 1]) return;
        const auto* b = static_cast<const __half*>(entry.b) + j;
        float sum[tile_rows] = {};
        for (int k = 0; k < entry.rank; ++k) {
            const float w = __half2float(b[static_cast<std::int64_t>(k) * all]);
#pragma unroll
            for (int i = 0; i < tile_rows; ++i) sum[i] = fmaf(w, reduced[k][i], sum[i]);
        }
#pragma unroll
        for (int i = 0; i < tile_rows; ++i)
            if ((rows >> i & 1) != 0 && entry.rank > 0)
                add_to(
                    static_cast<Out*>(args.out)[static_cast<std::int64_t>(first + i) * args.out_columns + j],
                    sum[i]);
    });
}

// Returns the factors for a pair, an index into (rows, used). Rank 0: it has none.
__device__ __forceinline__ AdapterEntry factors_of(const ExpertAdapterArgs& args, int pair) {
    const int adapter = args.factors.adapter_of[pair / args.routing.used], expert = args.routing.expert[pair];
    if (adapter < 0 || expert < 0) return {};
    return args.factors.adapters[adapter * args.routing.experts + expert];
}

// reduced[pair, k] = sum_c a[k, c] * x[row or place of the pair, c]. Each warp has a row k of a.
template <bool whole, bool by_row>
__global__ void __launch_bounds__(threads) reduce_pair(const __grid_constant__ ExpertAdapterArgs args) {
    const int pair = static_cast<int>(blockIdx.x);
    const int k = static_cast<int>(blockIdx.y) * warps + static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32, columns = args.factors.columns;
    const AdapterEntry entry = factors_of(args, pair);
    if (k >= entry.rank * args.factors.matrices) return;
    const std::int64_t row = by_row ? pair / args.routing.used : args.routing.place[pair];
    const auto* x = static_cast<const __half*>(args.factors.x) + row * columns;
    const auto* a = static_cast<const __half*>(entry.a) + static_cast<std::int64_t>(k) * columns;
    float sum = 0;
    for (int c = lane * 8; c < columns; c += 256) {
        const Eight w = load_eight<whole>(a + c, columns - c), v = load_eight<whole>(x + c, columns - c);
#pragma unroll
        for (int e = 0; e < 8; ++e) sum = fmaf(w.value[e], v.value[e], sum);
    }
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (lane == 0)
        args.factors
            .reduced[static_cast<std::int64_t>(pair) * args.factors.matrices * args.factors.most_rank + k] =
            sum;
}

// Returns sum_k b[k, j] * reduced[pair, k] for an output j of a matrix.
__device__ __forceinline__ float expanded(const ExpertAdapterArgs& args, const AdapterEntry& entry, int pair,
                                          int matrix, int j) {
    const int all = args.factors.row_begin[args.factors.matrices];
    const float* reduced = args.factors.reduced +
                           static_cast<std::int64_t>(pair) * args.factors.matrices * args.factors.most_rank +
                           matrix * entry.rank;
    const auto* b = static_cast<const __half*>(entry.b) + j;
    float sum = 0;
    for (int k = 0; k < entry.rank; ++k)
        sum = fmaf(__half2float(b[static_cast<std::int64_t>(k) * all]), reduced[k], sum);
    return sum;
}

// out[place of the pair, j]. Each thread has an output j of matrix blockIdx.z.
__global__ void __launch_bounds__(threads) expand_pair(const __grid_constant__ ExpertAdapterArgs args) {
    const int pair = static_cast<int>(blockIdx.x), matrix = static_cast<int>(blockIdx.z);
    const int j = args.factors.row_begin[matrix] + static_cast<int>(blockIdx.y) * threads +
                  static_cast<int>(threadIdx.x);
    if (args.routing.expert[pair] < 0 || j >= args.factors.row_begin[matrix + 1]) return;
    static_cast<float*>(
        args.factors
            .out)[static_cast<std::int64_t>(args.routing.place[pair]) * args.factors.out_columns + j] =
        expanded(args, factors_of(args, pair), pair, matrix, j);
}

// out[row, j] += the weighted sum over the row's pairs, of one matrix. Each thread has an output j.
__global__ void __launch_bounds__(threads) expand_row(const __grid_constant__ ExpertAdapterArgs args) {
    const int row = static_cast<int>(blockIdx.x), used = args.routing.used;
    const int j = static_cast<int>(blockIdx.y) * threads + static_cast<int>(threadIdx.x);
    if (args.factors.adapter_of[row] < 0 || j >= args.factors.row_begin[1]) return;
    float sum = 0;
    for (int pair = row * used; pair < (row + 1) * used; ++pair) {
        const AdapterEntry entry = factors_of(args, pair);
        if (entry.rank > 0) sum = fmaf(args.routing.weight[pair], expanded(args, entry, pair, 0, j), sum);
    }
    static_cast<float*>(args.factors.out)[static_cast<std::int64_t>(row) * args.factors.out_columns + j] +=
        sum;
}

__global__ void __launch_bounds__(threads)
    gate_halves(const __half* x, Activation activation, int columns, float limit, __half* out) {
    const int column = static_cast<int>(blockIdx.y) * threads + static_cast<int>(threadIdx.x);
    if (column >= columns) return;
    const std::int64_t row = blockIdx.x;
    const __half* from = x + row * 2 * columns + column;
    out[row * columns + column] = limited_half(gated_value(activation, limited(__half2float(from[0]), limit),
                                                           limited(__half2float(from[columns]), limit)),
                                               limit);
}

int parts(int count, int size) {
    return (count + size - 1) / size;
}

// The widest of the matrices.
int most_outputs(const AdapterArgs& args) {
    int widest = 0;
    for (int m = 0; m < args.matrices; ++m) widest = max(widest, args.row_begin[m + 1] - args.row_begin[m]);
    return widest;
}

template <bool by_row>
void launch_reduce_pairs(const ExpertAdapterArgs& args, const Stream& stream) {
    const LaunchShape shape{args.factors.rows * args.routing.used, threads, 0,
                            parts(args.factors.matrices * args.factors.most_rank, warps)};
    launch("adapters of experts",
           args.factors.columns % 8 == 0 ? reduce_pair<true, by_row> : reduce_pair<false, by_row>, shape,
           stream, args);
}

}  // namespace

void launch_adapt_experts(const ExpertAdapterArgs& args, const Stream& stream) {
    launch_reduce_pairs<true>(args, stream);
    const LaunchShape shape{args.factors.rows * args.routing.used, threads, 0,
                            parts(most_outputs(args.factors), threads), args.factors.matrices};
    launch("adapters of experts", expand_pair, shape, stream, args);
}

void launch_add_expert_adapters(const ExpertAdapterArgs& args, const Stream& stream) {
    launch_reduce_pairs<false>(args, stream);
    launch("adapters of experts", expand_row,
           {args.factors.rows, threads, 0, parts(args.factors.row_begin[1], threads)}, stream, args);
}

void launch_add_adapters(const AdapterArgs& args, const Stream& stream) {
    const int tiles = parts(args.rows, tile_rows);
    LaunchShape shape{tiles, threads, 0, parts(args.matrices * args.most_rank, warps)};
    launch("adapters", args.columns % 8 == 0 ? reduce<true> : reduce<false>, shape, stream, args);
    shape.blocks_y = parts(most_outputs(args), threads);
    shape.blocks_z = args.matrices;
    launch("adapters", args.float_out ? expand<float> : expand<__half>, shape, stream, args);
}

void launch_gate_halves(const void* x, Activation activation, int rows, int columns, float limit, void* out,
                        const Stream& stream) {
    launch("gating", gate_halves, {rows, threads, 0, parts(columns, threads)}, stream,
           static_cast<const __half*>(x), activation, columns, limit, static_cast<__half*>(out));
}

}  // namespace voltpile::llm
