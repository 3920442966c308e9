// Sums over the lanes of a warp. The order of the additions does not depend on the number of values.
#pragma once

namespace voltpile::llm {

// Returns the sum over the warp to all lanes.
__device__ inline float sum_of_warp(float value) {
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

// Sums the values over the warp. In each step, two lanes that differ in bit `offset` divide the N values.
template <int N, int offset, int size>
__device__ __forceinline__ void sum_over_lanes(float (&value)[size], int lane) {
    constexpr int half = N / 2;
    if constexpr (half == 0) {
        value[0] += __shfl_xor_sync(0xffffffffu, value[0], offset);
    } else {
        const bool upper = (lane & offset) != 0;
#pragma unroll
        for (int i = 0; i < half; ++i) {
            const float a = value[i], b = value[i + half];
            value[i] = (upper ? b : a) + __shfl_xor_sync(0xffffffffu, upper ? a : b, offset);
        }
    }
    if constexpr (offset > 1) sum_over_lanes<half, offset / 2>(value, lane);
}
// Returns in lane l the sum of value l / (32 / N) over the warp.
template <int N>
__device__ __forceinline__ float sum_over_warp(float (&value)[N], int lane) {
    sum_over_lanes<N, 16>(value, lane);
    return value[0];
}

}  // namespace voltpile::llm
