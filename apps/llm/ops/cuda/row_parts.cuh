// Parts of kernels with one block per row.
#pragma once

#include <cstdint>

#include "llm/ops/cuda/rows.h"

namespace voltpile::llm {

// Returns the sum of all threads' values. shared: 32 floats, not in use by another sum.
__device__ inline float sum_over_block(float value, float* shared) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    if (lane == 0) shared[warp] = value;
    __syncthreads();
    value = lane < static_cast<int>(blockDim.x) / 32 ? shared[lane] : 0.0f;
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

// Keeps the first place that trips and its lowest row.
__device__ inline void trip(std::uint64_t* sentinel, std::uint64_t place, unsigned row) {
    auto* word = reinterpret_cast<unsigned long long*>(sentinel);
    const unsigned long long mine = place | row;
    unsigned long long seen = atomicCAS(word, static_cast<unsigned long long>(sentinel_clear), mine);
    while (seen != sentinel_clear && seen >> 32 == mine >> 32 && mine < seen) {
        const unsigned long long before = atomicCAS(word, seen, mine);
        if (before == seen) return;
        seen = before;
    }
}

}  // namespace voltpile::llm
