// A weight matrix, or one rank's piece of it, before and after Ops::load_matrix().
#pragma once

#include <cstddef>
#include <cstdint>

#include "llm/model/weight_format.h"

namespace voltpile::llm {

// A matrix in the layout of a model file: row-major, with the format's blocks along the columns. Not owned.
// Row r begins at data + r * row_bytes. Norms and biases are not loaded as matrices but uploaded as fp32.
struct MatrixSource {
    WeightFormat format{};
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::size_t row_bytes = 0;  // row stride; larger than a row for a piece with only some of the columns
    const std::byte* data = nullptr;
    bool stays = false;  // the data outlive the matrix and never change: a mapped file
};

// A matrix in the layout of the Ops that loaded it; no other Ops may use it.
class WeightMatrix {
  public:
    WeightMatrix(WeightFormat format, std::int64_t rows, std::int64_t columns)
        : format_(format), rows_(rows), columns_(columns) {}
    virtual ~WeightMatrix() = default;
    WeightFormat format() const { return format_; }
    std::int64_t rows() const { return rows_; }
    std::int64_t columns() const { return columns_; }

  private:
    WeightFormat format_;
    std::int64_t rows_;
    std::int64_t columns_;
};

}  // namespace voltpile::llm
