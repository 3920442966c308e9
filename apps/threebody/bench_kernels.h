// Kernels that the GPU's bench compares with.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/stream.h"
#include "threebody/problem.h"

namespace voltpile::threebody {

// FP64 fused multiply-adds and nothing else: blocks * 256 * rounds * 16 of them. out: one double.
void launch_fma_loop(int blocks, int rounds, double* out, const Stream& stream);

// The memory-bound way: one launch a step, every pair's state loaded and stored. state: 36 arrays of `points`
// numbers; steps_together: (points).
void launch_plain_start(const Problem* problem, std::size_t points, double* state,
                        std::int32_t* steps_together, const Stream& stream);
void launch_plain_step(const Problem& problem, std::size_t points, double* state,
                       std::int32_t* steps_together, std::int32_t step, const Stream& stream);

}  // namespace voltpile::threebody
