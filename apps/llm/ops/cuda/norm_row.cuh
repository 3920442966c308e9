// An RMS norm in the kernel that takes its result. Every block computes the norm of the whole row: that takes
// less time than another kernel, and x comes from the L2 cache.
#pragma once

#include "llm/ops/cuda/half.cuh"
#include "llm/ops/cuda/norm_args.h"
#include "llm/ops/cuda/row_parts.cuh"

namespace voltpile::llm {

constexpr int norm_slice = 16;  // columns

__device__ __forceinline__ void load_slice(const float* from, float (&to)[norm_slice]) {
#pragma unroll
    for (int i = 0; i < norm_slice / 4; ++i) {
        const float4 v = reinterpret_cast<const float4*>(from)[i];
        to[4 * i] = v.x, to[4 * i + 1] = v.y, to[4 * i + 2] = v.z, to[4 * i + 3] = v.w;
    }
}

// Sixteen numbers of a normed row, 16-byte aligned.
struct NormedSlice {
    uint4 halves[2];
};

// Calls take(slice, normed) for each slice of the row's columns, distributed over the threads of the block.
// writes: whether this block writes norm.out and reports a sum that is not finite. sums: shared memory of 32
// floats. All threads call it.
template <class Take>
__device__ __forceinline__ void norm_row(const NormArgs& norm, int row, int columns, bool writes, float* sums,
                                         const Take& take) {
    const int first = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    const int slices = columns / norm_slice;
    const float* const x = norm.x + static_cast<std::int64_t>(row) * columns;
    // Most rows have no more slices than the block has threads: these stay in registers.
    float value[norm_slice] = {}, weight[norm_slice] = {};
    if (first < slices) {
        load_slice(x + first * norm_slice, value);
        load_slice(norm.weight + first * norm_slice, weight);
    }
    float sum = 0;
#pragma unroll
    for (const float v : value) sum = fmaf(v, v, sum);
    for (int slice = first + threads; slice < slices; slice += threads) {
        float more[norm_slice];
        load_slice(x + slice * norm_slice, more);
#pragma unroll
        for (const float v : more) sum = fmaf(v, v, sum);
    }
    const float mean = sum_over_block(sum, sums) / static_cast<float>(columns);
    if (writes && first == 0 && !isfinite(mean)) trip(norm.sentinel, norm.place, static_cast<unsigned>(row));
    const float scale = 1.0f / sqrtf(mean + norm.eps);
    for (int slice = first; slice < slices; slice += threads) {
        if (slice != first) {
            load_slice(x + slice * norm_slice, value);
            load_slice(norm.weight + slice * norm_slice, weight);
        }
        NormedSlice normed;
        auto* const halves = reinterpret_cast<__half2*>(normed.halves);
#pragma unroll
        for (int i = 0; i < norm_slice / 2; ++i)
            halves[i] =
                __halves2half2(limited_half(value[2 * i] * scale * weight[2 * i], norm.limit),
                               limited_half(value[2 * i + 1] * scale * weight[2 * i + 1], norm.limit));
        if (writes) {
            auto* const to = reinterpret_cast<uint4*>(static_cast<__half*>(norm.out) +
                                                      static_cast<std::int64_t>(row) * columns) +
                             2 * slice;
            to[0] = normed.halves[0];
            to[1] = normed.halves[1];
        }
        take(slice, normed);
    }
}

}  // namespace voltpile::llm
