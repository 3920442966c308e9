// Kernels for comparison in the GPU benchmark.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/stream.h"
#include "threebody/problem.h"

namespace voltpile::threebody {

// Advances all pairs by one step in the memory-bound way: one launch per step loads and stores every pair's
// state. state: 36 arrays of `points` numbers; steps_together: (points).
void launch_plain_start(const Problem* problem, std::size_t points, double* state,
                        std::int32_t* steps_together, const Stream& stream);
void launch_plain_step(const Problem& problem, std::size_t points, double* state,
                       std::int32_t* steps_together, std::int32_t step, const Stream& stream);

}  // namespace voltpile::threebody
