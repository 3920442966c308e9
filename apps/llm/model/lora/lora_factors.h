// The two factors of a low-rank adapter for one matrix of a model, as views of the tensors in its files.
#pragma once

#include <cstddef>

#include "llm/model/stored_tensor.h"

namespace voltpile::llm {

// A factor within a tensor: element (i, j) of the factor is the tensor's element first + i * row_step + j *
// column_step, in the order of the file. With a column_step of 1, its rows are rows of the tensor; otherwise
// the tensor is in F32, F16 or BF16.
struct FactorView {
    StoredTensor tensor;
    std::size_t first = 0;
    std::size_t row_step = 0;
    std::size_t column_step = 1;
};

// Returns the view of a tensor from a row on.
inline FactorView rows_from(const StoredTensor& tensor, std::size_t row) {
    return {tensor, row * tensor.columns, tensor.columns, 1};
}

// How the rows of b are ordered, compared with those of the model's matrix.
enum class LoraRows { Same, ToPairs, ToHalves };

struct LoraFactors {
    int rank = 0;
    FactorView a;  // (rank, columns of the matrix)
    FactorView b;  // (rows of the matrix, rank)
    LoraRows order = LoraRows::Same;
    double scale = 1;     // of b
    bool shared = false;  // other matrices have factors in the same tensors
};

// Returns the row of b that belongs to a row of the model's matrix. head_dim: of the model.
inline std::size_t row_in_b(const LoraFactors& factors, std::size_t row, std::size_t head_dim) {
    const std::size_t in_head = row % head_dim, half = head_dim / 2;
    std::size_t other = in_head;
    if (factors.order == LoraRows::ToPairs) other = in_head / 2 + in_head % 2 * half;
    if (factors.order == LoraRows::ToHalves) other = in_head % half * 2 + in_head / half;
    return row - in_head + other;
}

}  // namespace voltpile::llm
