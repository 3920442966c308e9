// Quantizes activations for the products of int8_product.cuh, in two kernels, because rows share factors.
#pragma once

#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/sm90/int8_bytes.cuh"
#include "llm/ops/cuda/sm90/int8_shape.h"
#include "llm/ops/cuda/sm90/warpgroup.cuh"

namespace voltpile::llm {

constexpr int quantizing_threads = 256;
constexpr int step_lanes = step_columns / 8;  // that read a step of a row

// Returns 8 numbers of a row of fp16, zeros from `columns` on.
__device__ __forceinline__ uint4 eight_of_row(const __half* row, int columns, int step, int lane) {
    const int column = step * step_columns + lane * 8;
    return column < columns ? *reinterpret_cast<const uint4*>(row + column) : make_uint4(0, 0, 0, 0);
}

// largest[row][step] = the largest magnitude of a step of a row, as the bits of a half. x: fp16 (rows,
// columns). factors[piece][step], zeros before: the largest share that a row's number of the step has in the
// largest of the row. Grid: (rows). Shared memory: a word for each step.
__global__ void __launch_bounds__(quantizing_threads)
    measure_rows(const __half* x, int columns, int steps, std::uint16_t* largest, std::uint32_t* factors) {
    begin_after_earlier_kernels();
    constexpr int groups = quantizing_threads / step_lanes;
    constexpr std::uint32_t magnitudes = magnitudes_of_two;
    extern __shared__ std::uint32_t of_step[];
    __shared__ std::uint32_t of_row;
    const int lane = static_cast<int>(threadIdx.x) % step_lanes;
    const int row = static_cast<int>(blockIdx.x);
    const __half* from = x + static_cast<std::int64_t>(row) * columns;
    if (threadIdx.x == 0) of_row = 0;
    __syncthreads();
    std::uint32_t most = 0;
    for (int first = 0; first < steps; first += groups) {
        const int step = first + static_cast<int>(threadIdx.x) / step_lanes;
        const uint4 v = eight_of_row(from, columns, step, lane);
        const std::uint32_t two = __vmaxu2(__vmaxu2(v.x & magnitudes, v.y & magnitudes),
                                           __vmaxu2(v.z & magnitudes, v.w & magnitudes));
        std::uint32_t one = larger_of(two);
#pragma unroll
        for (int i = step_lanes / 2; i > 0; i /= 2) one = max(one, __shfl_xor_sync(0xffffffffu, one, i));
        if (lane == 0 && step < steps) {
            of_step[step] = one;
            largest[static_cast<std::int64_t>(row) * steps + step] = static_cast<std::uint16_t>(one);
        }
        most = max(most, one);
    }
    if (lane == 0) atomicMax(&of_row, most);
    __syncthreads();
    const float inverse = 1 / half_of(of_row);
    if (of_row == 0 || !isfinite(inverse) || inverse == 0) return;  // such rows do not change the factors
    std::uint32_t* to = factors + static_cast<std::int64_t>(row / Int8Shape::rows) * steps;
    for (int step = static_cast<int>(threadIdx.x); step < steps; step += quantizing_threads) {
        const float share = half_of(of_step[step]) * inverse;
        atomicMax(&to[step], __float_as_uint(share));
    }
}

// Quantizes x to steps[piece][step] and scales[row]. Rows that do not exist are left as they are, columns
// become zeros up to a whole step. A number that is not finite makes the scale NaN, and with it the row's
// products.
__global__ void __launch_bounds__(quantizing_threads)
    quantize_rows(const __half* x, int columns, int steps, const std::uint16_t* largest,
                  const std::uint32_t* factors, Int8Rows* to, float* scales) {
    begin_after_earlier_kernels();
    // Sums are exact to about a unit of the largest factor (int8_product.cuh), so small ones must not be too
    // small.
    constexpr float least_factor = 0x1p-8f;
    constexpr int groups = quantizing_threads / step_lanes;
    const int lane = static_cast<int>(threadIdx.x) % step_lanes;
    const int row = static_cast<int>(blockIdx.x), r = row % Int8Shape::rows, piece = row / Int8Shape::rows;
    const __half* from = x + static_cast<std::int64_t>(row) * columns;
    const auto factor_of = [&](int step) {
        return fmaxf(__uint_as_float(factors[static_cast<std::int64_t>(piece) * steps + step]), least_factor);
    };
    __shared__ std::uint32_t bits_of_scale;
    if (threadIdx.x == 0) bits_of_scale = 0;
    __syncthreads();
    float scale = 0;
    bool finite = true;
    for (int step = static_cast<int>(threadIdx.x); step < steps; step += quantizing_threads) {
        const std::uint16_t bits = largest[static_cast<std::int64_t>(row) * steps + step];
        finite = finite && bits < 0x7c00;
        scale = fmaxf(scale, half_of(bits) / factor_of(step));
    }
    atomicMax(&bits_of_scale, finite ? __float_as_uint(scale) : 0x7fffffffu);
    __syncthreads();
    scale = __uint_as_float(bits_of_scale) / 127;
    if (threadIdx.x == 0) scales[row] = scale;
    for (int step = static_cast<int>(threadIdx.x) / step_lanes; step < steps; step += groups) {
        const float factor = factor_of(step), inverse = scale > 0 ? 1 / (scale * factor) : 0;
        const uint4 v = eight_of_row(from, columns, step, lane);
        float value[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) value[i] = __half2float(reinterpret_cast<const __half*>(&v)[i]);
        Int8Rows& out = to[static_cast<std::int64_t>(piece) * steps + step];
        *reinterpret_cast<uint2*>(&out.q[r][swizzled(r, lane / 2) * 16 + lane % 2 * 8]) =
            make_uint2(rounded_bytes(reinterpret_cast<float(&)[4]>(value[0]), inverse),
                       rounded_bytes(reinterpret_cast<float(&)[4]>(value[4]), inverse));
        if (lane == 0 && r == 0) out.factor = factor;
    }
}

}  // namespace voltpile::llm
