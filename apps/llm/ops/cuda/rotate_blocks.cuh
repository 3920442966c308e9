// The rotation of heads for quantized KV caches.
#pragma once

#include "llm/ops/cuda/half.cuh"

namespace voltpile::llm {

// Rotates each block of `order` numbers of a head, see KvElement. All lanes of a warp call it; lane l holds
// the numbers l + 32 i in x[i], and 0 past the end of the head. order: a power of two that divides the
// numbers of the head; 1 rotates nothing.
template <int each>
__device__ __forceinline__ void rotate_blocks(float (&x)[each], int order) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int length = 1; length < 32; length *= 2) {
        if (length >= order) continue;
#pragma unroll
        for (int i = 0; i < each; ++i) {
            const float other = __shfl_xor_sync(0xffffffffu, x[i], length);
            x[i] = (lane & length) != 0 ? other - x[i] : x[i] + other;
        }
    }
#pragma unroll
    for (int step = 1; step < each; step *= 2) {
        if (32 * step >= order) continue;
#pragma unroll
        for (int i = 0; i < each; ++i) {
            if ((i & step) != 0) continue;
            const float first = x[i], second = x[i + step];
            x[i] = first + second;
            x[i + step] = first - second;
        }
    }
    const float scale = 1.0f / sqrtf(static_cast<float>(order));
#pragma unroll
    for (int i = 0; i < each; ++i) x[i] *= scale;
}

// Writes the numbers half_of(d) of a head of at most 32 * each numbers to `to`, rotated. A warp calls it.
// limit: half_limit().
template <int each, class Halves>
__device__ __forceinline__ void rotate_half_head(int dim, int order, float limit, const Halves& half_of,
                                                 __half* to) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    float x[each];
#pragma unroll
    for (int i = 0; i < each; ++i) x[i] = lane + 32 * i < dim ? __half2float(half_of(lane + 32 * i)) : 0.0f;
    rotate_blocks(x, order);
#pragma unroll
    for (int i = 0; i < each; ++i)
        if (lane + 32 * i < dim) to[lane + 32 * i] = limited_half(x[i], limit);
}

}  // namespace voltpile::llm
