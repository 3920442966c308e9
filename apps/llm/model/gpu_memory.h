// The GPU memory that weights and operations take. The CUDA operations allocate these sizes and plans count
// them, also on machines without a GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "llm/model/weight_format_list.h"

namespace voltpile::llm {

constexpr int rows_in_group = 4;  // of a matrix, see ops/cuda/matrix.h

// Bytes of the planes of a matrix that files hold in `format` (ops/cuda/matrix.h), each a multiple of 256.
struct PlaneBytes {
    std::size_t quants = 0, high = 0, scales = 0, super = 0;
    std::size_t total() const { return quants + high + scales + super; }
};
PlaneBytes plane_bytes(WeightFormat format, std::int64_t rows, std::int64_t columns);

// Returns the format in which rows travel to the GPU: the file's, or the GPU's if cores must convert them.
WeightFormat sent_format(WeightFormat format);

// Returns the bytes of a loaded tensor: a matrix, or a vector with one row (a norm, a bias), which becomes
// fp32.
std::size_t gpu_bytes(WeightFormat format, std::int64_t rows, std::int64_t columns);

// Scratch space of single operations: weights as fp16 for long prompts, partial sums.
constexpr std::size_t gpu_scratch_bytes = std::size_t{320} << 20;
// The workspace of cuBLAS: the size that NVIDIA recommends for Hopper, enough for all GPUs.
constexpr std::size_t cublas_bytes = std::size_t{32} << 20;

}  // namespace voltpile::llm
