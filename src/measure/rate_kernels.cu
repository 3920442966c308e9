#include "measure/rate_kernels.h"

#include <mma.h>

#include "device/launch.cuh"

namespace voltpile {

namespace {

constexpr int memory_threads = 512;
constexpr int loads = 4;  // in flight at once for each thread

__global__ void __launch_bounds__(memory_threads)
    read_all(const uint4* data, std::int64_t count, unsigned* out) {
    unsigned seen = 0;
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * memory_threads;
    std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * memory_threads + threadIdx.x;
    for (; i + (loads - 1) * step < count; i += loads * step) {
        uint4 v[loads];
#pragma unroll
        for (int k = 0; k < loads; ++k) v[k] = data[i + k * step];
#pragma unroll
        for (int k = 0; k < loads; ++k) seen |= v[k].x | v[k].y | v[k].z | v[k].w;
    }
    for (; i < count; i += step) seen |= data[i].x | data[i].y | data[i].z | data[i].w;
    if (seen != 0) *out = seen;  // never happens for zeros, but the compiler cannot know
}

__global__ void __launch_bounds__(memory_threads) copy_all(uint4* to, const uint4* from, std::int64_t count) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * memory_threads;
    std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * memory_threads + threadIdx.x;
    for (; i + (loads - 1) * step < count; i += loads * step) {
        uint4 v[loads];
#pragma unroll
        for (int k = 0; k < loads; ++k) v[k] = from[i + k * step];
#pragma unroll
        for (int k = 0; k < loads; ++k) to[i + k * step] = v[k];
    }
    for (; i < count; i += step) to[i] = from[i];
}

__global__ void fma_loop(int rounds, double factor, double term, double* out) {
    double value[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) value[i] = threadIdx.x + i;
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int i = 0; i < 16; ++i) value[i % 8] = __fma_rn(value[i % 8], factor, term);
    }
    double sum = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += value[i];
    if (sum == 0.123) *out = sum;  // never true, but the compiler cannot know
}

// Four products for each warp in a round, whose sums do not wait for each other.
__global__ void __launch_bounds__(256, 2) tensor_loop(int rounds, float* out) {
    namespace wmma = nvcuda::wmma;
    constexpr int size = 16;
    wmma::fragment<wmma::matrix_a, size, size, size, half, wmma::row_major> a[2];
    wmma::fragment<wmma::matrix_b, size, size, size, half, wmma::col_major> b[2];
    wmma::fragment<wmma::accumulator, size, size, size, float> sum[2][2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        // Small numbers of both signs: zeros would take less power than real work.
        for (int e = 0; e < a[i].num_elements; ++e)
            a[i].x[e] = __float2half(0.01f * static_cast<float>((threadIdx.x * 7 + e * 5 + i) % 13) - 0.06f);
        for (int e = 0; e < b[i].num_elements; ++e)
            b[i].x[e] = __float2half(0.01f * static_cast<float>((threadIdx.x * 3 + e * 11 + i) % 17) - 0.08f);
        for (int k = 0; k < 2; ++k) wmma::fill_fragment(sum[i][k], 0.0f);
    }
    for (int round = 0; round < rounds; ++round)
#pragma unroll
        for (int product = 0; product < 4; ++product)
            wmma::mma_sync(sum[product / 2][product % 2], a[product / 2], b[product % 2],
                           sum[product / 2][product % 2]);
    float total = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i)
        for (int e = 0; e < sum[i / 2][i % 2].num_elements; ++e) total += sum[i / 2][i % 2].x[e];
    if (total == 0.123f) *out = total;  // never true, but the compiler cannot know
}

}  // namespace

void launch_read_all(const void* data, std::int64_t bytes, void* out, int multiprocessors,
                     const Stream& stream) {
    launch("reading memory", read_all, {multiprocessors * 4, memory_threads}, stream,
           static_cast<const uint4*>(data), bytes / 16, static_cast<unsigned*>(out));
}

void launch_copy_all(void* to, const void* from, std::int64_t bytes, int multiprocessors,
                     const Stream& stream) {
    launch("copying memory", copy_all, {multiprocessors * 4, memory_threads}, stream, static_cast<uint4*>(to),
           static_cast<const uint4*>(from), bytes / 16);
}

void launch_fma_loop(int blocks, int rounds, double* out, const Stream& stream) {
    launch("loop of multiply-adds", fma_loop, {blocks, 256}, stream, rounds, 0.999999, 1e-6, out);
}

void launch_tensor_loop(int blocks, int rounds, float* out, const Stream& stream) {
    launch("loop of matrix products", tensor_loop, {blocks, 256}, stream, rounds, out);
}

}  // namespace voltpile
