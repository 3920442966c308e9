// What weights and operations take of a GPU's memory: what the CUDA Ops allocate and what plans count, known
// without a GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "llm/model/weight_format.h"

namespace voltpile::llm {

constexpr int rows_in_group = 4;  // of a matrix, see cuda_matrix.h

// Bytes of the planes of a matrix (cuda_matrix.h), each a multiple of 256.
struct PlaneBytes {
    std::size_t quants = 0, high = 0, scales = 0, super = 0;
    std::size_t total() const { return quants + high + scales + super; }
};
PlaneBytes plane_bytes(WeightFormat format, std::int64_t rows, std::int64_t columns);

// Of a tensor as it is loaded: a matrix, or a vector (one row: a norm, a bias), which becomes fp32.
std::size_t gpu_bytes(WeightFormat format, std::int64_t rows, std::int64_t columns);

// For intermediate results of single operations: weights as fp16 for long prompts, partial sums.
constexpr std::size_t gpu_scratch_bytes = std::size_t{320} << 20;
// What cuBLAS has besides: as NVIDIA advises for Hopper, enough for all.
constexpr std::size_t cublas_bytes = std::size_t{32} << 20;

}  // namespace voltpile::llm
