// Numbers on their way to another rank, as words (joint_wire.cuh).
#pragma once

#include "comm/collective/peer_wait.cuh"
#include "llm/ops/cuda/half.cuh"
#include "llm/ops/cuda/sent_part.h"

namespace voltpile::llm {

// Ranks send a part of their sums, so that fp16 holds larger ones.
constexpr float sent_scale = 1.0f / 16;

// A word of data is not zero, because zero means that it has not arrived.
__device__ __forceinline__ unsigned without_zero(unsigned two_halves) {
    return two_halves == 0 ? 0x80008000u : two_halves;
}
__device__ __forceinline__ unsigned half_word(float value, float limit) {
    return __half_as_ushort(limited_half(value, limit));
}
__device__ __forceinline__ unsigned two_halves(float a, float b, float limit) {
    return without_zero(half_word(a, limit) | half_word(b, limit) << 16);
}

// Sends the results of four neighboring lanes, of which the first has a row that is a multiple of 4. All four
// call it.
__device__ __forceinline__ void send_four(const SentPart& to, int row, float result) {
    const unsigned four = 0xfu << (threadIdx.x % 32 & ~3u), mine = half_word(result * sent_scale, to.limit);
    const unsigned low = without_zero(mine | __shfl_down_sync(four, mine, 1) << 16);
    const unsigned high = __shfl_down_sync(four, low, 2);
    if (threadIdx.x % 4 != 0) return;
#pragma unroll
    for (int p = 0; p < max_peers - 1; ++p)
        if (p < to.peers) store_volatile(reinterpret_cast<uint2*>(to.to[p] + 2 * row), make_uint2(low, high));
}

}  // namespace voltpile::llm
