// A weight tensor of a model. Canonical names are GGUF's: token_embd.weight, blk.3.attn_q.weight, ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "llm/model/weight_format.h"

namespace voltpile::llm {

// The axis along which tensor parallelism cuts a tensor, and the units that stay whole. HeadNumbers: one
// number for each head.
enum class CutAxis { None, Rows, Columns };
enum class CutGroup { None, Heads, HeadNumbers, KvHeads, Ffn, Experts, SharedFfn, Vocabulary };

class PackedMatrix;

// Rows are the outputs of a matrix product, columns its inputs. Vectors (norms, biases) have one row.
struct ModelTensor {
    std::string name;
    int layer;  // -1: not in a layer
    std::size_t rows;
    std::size_t columns;
    CutAxis cut_axis = CutAxis::None;
    CutGroup cut_group = CutGroup::None;
    WeightFormat format = WeightFormat::F32;
    int expert = -1;           // whose matrix it is; -1: of all tokens
    bool router = false;       // also the biases of experts: in memory as fp32 numbers
    bool as_half = false;      // in memory as fp16 numbers
    std::size_t matrices = 1;  // of equal shape, one below the other: stacked_tensors()
    // The place in the model's files; null and -1 for a synthetic model and a packed matrix.
    const std::byte* data = nullptr;  // mapped, aligned only as in the file
    int file = -1;                    // index into ModelFiles::paths()
    std::uint64_t offset = 0;         // of `data` in that file
    // The matrix that a Hugging Face folder has packed, and the row where this tensor begins in it.
    const PackedMatrix* packed = nullptr;
    std::size_t packed_row = 0;
    // Column j multiplies number column_order[j] of the input; empty: number j. See sort_columns().
    std::span<const std::int32_t> column_order{};

    std::size_t bytes() const { return rows * row_bytes(format, columns); }
};

// A rectangle of a tensor. Its columns begin and end at block boundaries.
struct TensorSlice {
    std::size_t row_begin;
    std::size_t row_end;
    std::size_t column_begin;
    std::size_t column_end;

    std::size_t rows() const { return row_end - row_begin; }
    std::size_t columns() const { return column_end - column_begin; }
    std::size_t bytes(WeightFormat format) const { return rows() * row_bytes(format, columns()); }
    bool operator==(const TensorSlice&) const = default;
};

inline TensorSlice whole(const ModelTensor& tensor) {
    return {0, tensor.rows, 0, tensor.columns};
}

// Throws std::out_of_range if `slice` is outside `tensor` or cuts a block.
void check_slice(const ModelTensor& tensor, const TensorSlice& slice);

}  // namespace voltpile::llm
