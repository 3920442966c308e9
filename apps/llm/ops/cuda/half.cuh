// Activations, and their conversion to fp16 with the bound of half_limit.h.
#pragma once

#include <cuda_fp16.h>

#include "llm/model/layer_blocks.h"

namespace voltpile::llm {

// The gated product of one element, see Activation. (1 + tanh(y)) / 2 = 1 / (1 + exp(-2 y)), so all
// activations divide g by 1 + exp(-exponent): within 1e-5 by the hardware, where fp16 has 5e-4.
__device__ __forceinline__ float gated_value(Activation activation, float g, float u) {
    constexpr float twice_root = 1.5957691f;  // 2 sqrt(2 / pi)
    float exponent = g;
    if (activation == Activation::GeluTanh) {
        exponent = g * fmaf(g * g, twice_root * 0.044715f, twice_root);
    } else if (activation == Activation::ClampedSwiglu) {
        // Comparisons instead of fminf and fmaxf: NaN stays NaN.
        g = g > kSwigluLimit ? kSwigluLimit : g;
        u = (u > kSwigluLimit ? kSwigluLimit : u < -kSwigluLimit ? -kSwigluLimit : u) + 1;
        exponent = kSwigluSlope * g;
    }
    return __fdividef(g, 1 + __expf(-exponent)) * u;
}
__device__ inline float limited(float v, float limit) {
    return fabsf(v) > limit ? copysignf(limit, v) : v;
}
__device__ inline __half limited_half(float v, float limit) {
    return __float2half_rn(limited(v, limit));
}

}  // namespace voltpile::llm
