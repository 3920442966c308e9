// Converts fp32 activations to fp16 with the bound of half_limit.h.
#pragma once

#include <cuda_fp16.h>

namespace voltpile::llm {

__device__ __forceinline__ float silu(float g) {
    return g / (1 + expf(-g));
}
__device__ inline float limited(float v, float limit) {
    return fabsf(v) > limit ? copysignf(limit, v) : v;
}
__device__ inline __half limited_half(float v, float limit) {
    return __float2half_rn(limited(v, limit));
}

}  // namespace voltpile::llm
