// Rows on their way between the GPU and the cores that compute experts in host memory.
#pragma once

#include <cstdint>

#include "device/stream.h"
#include "llm/ops/operands.h"

namespace voltpile::llm {

// Copies words of 32 bits of x, and the experts and weights of `pairs` pairs, to pinned host memory.
void launch_hand_over(const void* x, std::int64_t words, const Routing& routing, std::int64_t pairs,
                      void* to_x, std::int32_t* to_expert, float* to_weight, const Stream& stream);

// out[r, c] = sum[r, c], plus shared[r] times the former out[r, c] unless shared is nullptr. sum: pinned host
// memory.
void launch_take_sum(const float* sum, const float* shared, std::int64_t rows, std::int64_t columns,
                     float* out, const Stream& stream);

}  // namespace voltpile::llm
