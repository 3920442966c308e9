// A matrix that a Hugging Face folder has packed in another layout than its rows of blocks. It is converted
// when it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "llm/model/model_tensor.h"

namespace voltpile::llm {

struct PackedShape {
    std::string place;  // "FILE: tensor NAME", for messages
    std::uint64_t rows;
    std::uint64_t columns;
};

// The rows of a matrix that another one consists of, and their order.
struct Arrangement {
    std::uint64_t row_begin = 0;
    std::uint64_t rows = 0;
    std::span<const std::int32_t> row_order{};  // row i is row row_begin + row_order[i]; empty: row_begin + i
    bool sort_columns = false;                  // column j is column sorted_columns()[j]
};

class PackedMatrix {
  public:
    virtual ~PackedMatrix() = default;
    PackedMatrix(const PackedMatrix&) = delete;
    PackedMatrix& operator=(const PackedMatrix&) = delete;

    std::uint64_t rows() const { return shape_.rows; }
    std::uint64_t columns() const { return shape_.columns; }
    WeightFormat format() const { return format_; }  // to which it converts

    // Writes a slice in format(), row after row without gaps, on several threads. The slice is in the matrix
    // and cuts no block. Thread-safe. Throws FileError for scales or weights that are
    // not numbers, or that F16 cannot hold.
    void read(const TensorSlice& slice, std::byte* out) const;

    // Returns the bytes in the file: weights, scales...
    virtual std::vector<std::span<const std::byte>> parts() const = 0;

    // Whether the columns of a group are not adjacent (act-order).
    virtual bool is_reordered() const { return false; }
    // Returns the columns sorted by group, if is_reordered(), all groups but the last have equally many
    // columns in whole blocks, and the sorted matrix has fewer bits. Empty for others. Not thread-safe.
    virtual std::span<const std::int32_t> sorted_columns() const { return {}; }
    // Whether arranged() returns a matrix.
    virtual bool can_arrange() const { return false; }
    // Returns a matrix of the same file. Columns can be sorted only if sorted_columns() is not empty.
    // row_order must outlive the result, this matrix need not. Not thread-safe.
    virtual std::unique_ptr<PackedMatrix> arranged(const Arrangement&) const { return nullptr; }

  protected:
    static constexpr std::size_t kTileRows = 64;

    PackedMatrix(PackedShape shape, WeightFormat format);

    const std::string& place() const { return shape_.place; }

    // Writes at most kTileRows rows. Returns false if a scale or weight is not finite in F16. Does not
    // throw.
    virtual bool convert(const TensorSlice& tile, std::byte* out) const = 0;

  private:
    PackedShape shape_;
    WeightFormat format_;
};

}  // namespace voltpile::llm
