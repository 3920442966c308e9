// The GPU memory that weights and operations take. The CUDA operations allocate these sizes and plans count
// them, also on machines without a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "llm/model/weight_format_list.h"

namespace voltpile::llm {

// Returns `bytes` rounded up to the alignment of pieces of one allocation (SlabMemory, scratch memory).
constexpr std::size_t gpu_piece_bytes(std::size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

constexpr int rows_in_group = 4;  // of a matrix, see ops/cuda/matrix.h

// Bytes of the planes of a matrix that files hold in `format` (ops/cuda/matrix.h), each of gpu_piece_bytes().
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

// Whether products of weights as integers are worth it on a GPU: those of compute capability 10.x and 11.x
// have few tensor cores for them, or were not measured.
constexpr bool has_integer_tensor_cores(int compute_capability) {
    return compute_capability >= 75 && (compute_capability < 100 || compute_capability >= 120);
}
// Returns the bytes of the copy as 8-bit integers of matrices that products multiply together, with so many
// rows each, which such GPUs read for many rows of activations: tiles of 256 rows, of each matrix or, if
// gated, of both, and of 128 columns, with a scale for each row.
std::size_t integer_copy_bytes(std::span<const std::int64_t> rows, std::int64_t columns, bool gated);
// Rows with more columns are not rounded to integers: they do not fit in a block's shared memory.
std::int64_t most_integer_columns(int compute_capability);

// An entry of the table of adapters that change a matrix (AdapterEntry).
constexpr std::size_t adapter_entry_bytes = 24;

// The memory for the words by which the GPUs of a tensor-parallel group send each other few rows for sums
// joined with norms (ops/cuda/joint_wire.cuh), in passes of at most `rows`: four sets of so many fp16
// numbers, and two of a row from each rank.
constexpr std::int64_t most_word_numbers = std::int64_t{1} << 21;
constexpr std::int64_t joint_word_numbers(std::int64_t ranks, std::int64_t rows, std::int64_t columns) {
    const std::int64_t all = ranks * rows * columns;
    return all < most_word_numbers ? all : most_word_numbers;
}
constexpr std::int64_t joint_word_bytes(std::int64_t ranks, std::int64_t rows, std::int64_t columns) {
    return 2 * (4 * joint_word_numbers(ranks, rows, columns) + 2 * ranks * columns);
}

// Scratch space of single operations: weights as fp16 for long prompts, partial sums.
constexpr std::size_t gpu_scratch_bytes = std::size_t{320} << 20;
// The workspace of cuBLAS: the size that NVIDIA recommends for Hopper, enough for all GPUs.
constexpr std::size_t cublas_bytes = std::size_t{32} << 20;

}  // namespace voltpile::llm
