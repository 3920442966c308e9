// Matrices of integers with a scale, and maybe a zero point, for each row and group of columns: GPTQ, AWQ and
// compressed-tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "llm/model/packed/number_arrays.h"
#include "llm/model/packed/packed_matrix.h"

namespace voltpile::llm {

// weight(row, column) = (q(row, column) - zero(row, g)) scale(row, g) with the group g of the column.
struct IntegerParts {
    BitArray q;
    bool q_along_columns = true;  // BitArray's packed axis; otherwise along rows
    BitArray zeros;               // packed axis: the rows, other: the groups; without data: 2^(bits - 1)
    int added_to_zeros = 0;
    FloatArray scales;
    bool scales_by_group = false;  // those of a group are adjacent; otherwise those of a row
    bool one_scale = false;        // for the whole matrix, also one zero point
    std::uint64_t groups = 1;
    std::uint64_t group = 0;                        // columns of one
    std::vector<std::uint32_t> group_of;            // by column; empty: column / group
    std::vector<std::span<const std::byte>> bytes;  // of all these in the file
};

// Converts to Q4_0 (4 bits, zero points 8), UINT4 (4 bits, others) or Q8_0 (8 bits, zero points 128) if a
// block of 32 columns has one scale, which becomes F16; otherwise to F16. The latter includes matrices whose
// columns were quantized in another order (act-order of GPTQ), unless they are sorted.
class PackedIntegers final : public PackedMatrix {
  public:
    PackedIntegers(const PackedShape& shape, IntegerParts parts);

    std::vector<std::span<const std::byte>> parts() const override { return parts_->bytes; }
    bool is_reordered() const override { return !parts_->group_of.empty(); }
    std::span<const std::int32_t> sorted_columns() const override { return sorted().columns; }
    bool can_arrange() const override { return true; }
    std::unique_ptr<PackedMatrix> arranged(const Arrangement& arrangement) const override;

  private:
    // What sorted columns are, see sorted_columns(), and the format of the matrix that has them.
    struct Sorted {
        std::vector<std::int32_t> columns;
        WeightFormat format = WeightFormat::F16;
    };

    PackedIntegers(const PackedIntegers& from, const Arrangement& arrangement);
    const Sorted& sorted() const;  // found at the first call, because it takes a look at all zero points
    bool convert(const TensorSlice& tile, std::byte* out) const override;
    std::uint64_t stored_row(std::uint64_t row) const {
        return row_begin_ + (row_order_.empty() ? row : static_cast<std::uint64_t>(row_order_[row]));
    }

    std::shared_ptr<const IntegerParts> parts_;
    std::uint64_t stored_rows_;
    mutable std::shared_ptr<const Sorted> sorted_;  // null: not yet found
    bool is_sorted_ = false;       // whether column j is column sorted_->columns[j] of the file
    std::uint64_t row_begin_ = 0;  // in the file
    std::span<const std::int32_t> row_order_{};
};

}  // namespace voltpile::llm
