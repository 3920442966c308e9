// Kernels that exchange numbers with the host through pinned memory: drawn tokens, and the rows of experts in
// host memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/stream.h"
#include "llm/ops/operands.h"

namespace voltpile::llm {

// The rows of a pass in pinned host memory.
struct HandedRows {
    std::uint16_t* x = nullptr;       // fp16 (rows, columns)
    std::int32_t* expert = nullptr;   // (rows, used)
    float* weight = nullptr;          // (rows, used)
    std::int32_t* adapter = nullptr;  // (rows)
};

// Copies x, fp16 with an even number of columns, the experts of its rows, and their adapters if `adapter` is
// not nullptr.
void launch_hand_over(const void* x, std::int64_t rows, std::int64_t columns, const Routing& routing,
                      const std::int32_t* adapter, const HandedRows& to, const Stream& stream);

// out[r, c] = sum[r, c], plus shared[r] times the former out[r, c] unless shared is nullptr. sum: pinned host
// memory.
void launch_take_sum(const float* sum, const float* shared, std::int64_t rows, std::int64_t columns,
                     float* out, const Stream& stream);

// Copies `bytes` bytes, a multiple of 4, from GPU memory to pinned host memory, both aligned to 4 bytes. For
// a few KB this takes 7 us less than a copy by the copy engine, which the next pass waits for, too
// (docs/benchmarks.md).
void launch_copy_to_host(void* to, const void* from, std::size_t bytes, const Stream& stream);

}  // namespace voltpile::llm
