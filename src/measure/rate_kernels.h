// The kernels that measure a GPU (gpu_rates.h). They only exist in a build with CUDA.
#pragma once

#include <cstdint>

#include "device/stream.h"

namespace voltpile {

// Reads `bytes` bytes, a multiple of 16, which must be zero. out: 4 bytes, which the kernel then does not
// write.
void launch_read_all(const void* data, std::int64_t bytes, void* out, int multiprocessors,
                     const Stream& stream);

// Copies `bytes` bytes, a multiple of 16. The areas must not overlap.
void launch_copy_all(void* to, const void* from, std::int64_t bytes, int multiprocessors,
                     const Stream& stream);

// Executes multiply_adds_of_fma_loop(blocks, rounds) FP64 multiply-adds and nothing else. out: one double.
void launch_fma_loop(int blocks, int rounds, double* out, const Stream& stream);
constexpr double multiply_adds_of_fma_loop(int blocks, int rounds) {
    return 256.0 * 16 * blocks * rounds;
}

// Multiplies 16 x 16 matrices of fp16 on the tensor cores, with fp32 sums: multiply_adds_of_tensor_loop
// multiply-adds and nothing else. out: one float.
void launch_tensor_loop(int blocks, int rounds, float* out, const Stream& stream);
constexpr double multiply_adds_of_tensor_loop(int blocks, int rounds) {
    return 8.0 * 4 * 16 * 16 * 16 * blocks * rounds;  // warps of a block, products of a round
}

}  // namespace voltpile
