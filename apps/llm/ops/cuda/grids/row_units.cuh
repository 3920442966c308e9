// Reads units of weights of IQ1, IQ2 and IQ3 of one row (row_units.cuh). The grid must be in shared memory
// (bring_grid()).
#pragma once

#include "llm/ops/cuda/grids/units.cuh"
#include "llm/ops/cuda/row_units.cuh"

namespace voltpile::llm {

// Scales of IQ1, IQ2 and IQ3 are small, so that fp16 rounds them times 2^5, and weights in units of 2^-5.
template <class Bytes>
__device__ __forceinline__ uint4 halves_of_grid(float scale, int q, const Bytes& bytes) {
    return halves_of_bytes<128, 5>(__float2half_rn(scale * 32), q, bytes);
}

}  // namespace voltpile::llm
