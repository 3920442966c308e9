#include "llm/ops/cuda/heads.h"

#include <mma.h>

#include "device/launch.cuh"
#include "llm/ops/cuda/half.cuh"

namespace voltpile::llm {

namespace {

using namespace nvcuda;

constexpr int head_warps = 4, head_threads = 32 * head_warps;
constexpr int tile_rows = 16;                  // of x
constexpr int tile_outputs = 16 * head_warps;  // each warp has 16
constexpr int tile_depth = 64;                 // columns of x in a step
constexpr int tile_stride = tile_depth + 8;    // avoids bank conflicts

__device__ std::int64_t column_of(const HeadColumns& heads, int head) {
    return heads.begin + head * heads.stride;
}

// A block multiplies 16 rows of one head with 64 rows of its matrix. The order of a sum depends on the number
// of columns alone.
__global__ void __launch_bounds__(head_threads)
    matmul_heads(const HeadRows x, const DeviceMatrix weight, const HeadRows out, int rows, float limit) {
    __shared__ __align__(32) __half inputs[tile_rows][tile_stride];
    __shared__ __align__(32) __half weights[tile_outputs][tile_stride];
    __shared__ __align__(32) float sums[tile_rows][tile_outputs + 4];
    const int t = static_cast<int>(threadIdx.x), warp = t / 32, head = static_cast<int>(blockIdx.z);
    const int first_row = static_cast<int>(blockIdx.x) * tile_rows;
    const int first = static_cast<int>(blockIdx.y) * tile_outputs;
    const int outputs = static_cast<int>(out.heads.count), depth = static_cast<int>(x.heads.count);
    const __half* from = static_cast<const __half*>(x.data) + column_of(x.heads, head);
    const auto* matrix = reinterpret_cast<const __half*>(weight.quants) +
                         static_cast<std::int64_t>(head) * outputs * weight.columns;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < depth; k += tile_depth) {
        for (int i = t; i < tile_rows * tile_depth; i += head_threads) {
            const int row = first_row + i / tile_depth, c = k + i % tile_depth;
            inputs[i / tile_depth][i % tile_depth] =
                row < rows && c < depth
                    ? limited_half(__half2float(from[static_cast<std::int64_t>(row) * x.columns + c]), limit)
                    : __half(0.0f);
        }
        // The matrix has zeros in columns up to a multiple of 32.
        for (int i = t; i < tile_outputs * tile_depth / 8; i += head_threads) {
            const int j = i / (tile_depth / 8), c = i % (tile_depth / 8) * 8;
            uint4 eight = {};
            if (first + j < outputs && k + c < weight.columns)
                eight = *reinterpret_cast<const uint4*>(
                    matrix + static_cast<std::int64_t>(first + j) * weight.columns + k + c);
            *reinterpret_cast<uint4*>(&weights[j][c]) = eight;
        }
        __syncthreads();
#pragma unroll
        for (int c = 0; c < tile_depth; c += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
            wmma::load_matrix_sync(a, &inputs[0][c], tile_stride);
            wmma::load_matrix_sync(b, &weights[warp * 16][c], tile_stride);
            wmma::mma_sync(sum, a, b, sum);
        }
        __syncthreads();
    }
    wmma::store_matrix_sync(&sums[0][warp * 16], sum, tile_outputs + 4, wmma::mem_row_major);
    __syncthreads();
    __half* const to = static_cast<__half*>(out.data) + column_of(out.heads, head);
    for (int i = t; i < tile_rows * tile_outputs; i += head_threads) {
        const int row = first_row + i / tile_outputs, j = first + i % tile_outputs;
        if (row < rows && j < outputs)
            to[static_cast<std::int64_t>(row) * out.columns + j] =
                limited_half(sums[i / tile_outputs][i % tile_outputs], limit);
    }
}

// Grid: (rows, heads).
// wide: 16 bytes at a time.
__global__ void __launch_bounds__(128) copy_heads(const HeadRows x, const HeadRows out, bool wide) {
    const auto row = static_cast<std::int64_t>(blockIdx.x);
    const int head = static_cast<int>(blockIdx.y);
    const __half* from = static_cast<const __half*>(x.data) + row * x.columns + column_of(x.heads, head);
    __half* const to = static_cast<__half*>(out.data) + row * out.columns + column_of(out.heads, head);
    const int first = static_cast<int>(threadIdx.x);
    if (wide)
        for (int i = first; i < x.heads.count / 8; i += 128)
            reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
    else
        for (int i = first; i < x.heads.count; i += 128) to[i] = from[i];
}

// Whether all heads of all rows begin and end at multiples of 16 bytes.
bool is_wide(const HeadRows& x) {
    const bool starts = reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
    return starts && (x.columns | x.heads.begin | x.heads.stride | x.heads.count) % 8 == 0;
}

}  // namespace

void launch_matmul_heads(const HeadRows& x, const DeviceMatrix& weight, int heads, const HeadRows& out,
                         int rows, float limit, const Stream& stream) {
    if (rows == 0) return;
    const int outputs = static_cast<int>(out.heads.count);
    launch("product of heads", matmul_heads,
           {(rows + tile_rows - 1) / tile_rows, head_threads, 0, (outputs + tile_outputs - 1) / tile_outputs,
            heads},
           stream, x, weight, out, rows, limit);
}

void launch_copy_heads(const HeadRows& x, int heads, const HeadRows& out, int rows, const Stream& stream) {
    if (rows == 0) return;
    launch("copy of heads", copy_heads, {rows, 128, 0, heads}, stream, x, out, is_wide(x) && is_wide(out));
}

}  // namespace voltpile::llm
