// Activations, and their conversion to fp16 with the bound of half_limit.h.
#pragma once

#include <cuda_fp16.h>

#include "llm/model/layer_blocks.h"

namespace voltpile::llm {

// (1 + tanh(y)) / 2 = 1 / (1 + exp(-2 y)), so both activations divide g by 1 + exp(-exponent).
__device__ __forceinline__ float activated(Activation activation, float g) {
    constexpr float twice_root = 1.5957691f;  // 2 sqrt(2 / pi)
    const float exponent =
        activation == Activation::Silu ? g : g * fmaf(g * g, twice_root * 0.044715f, twice_root);
    return g / (1 + expf(-exponent));
}
__device__ inline float limited(float v, float limit) {
    return fabsf(v) > limit ? copysignf(limit, v) : v;
}
__device__ inline __half limited_half(float v, float limit) {
    return __float2half_rn(limited(v, limit));
}

}  // namespace voltpile::llm
