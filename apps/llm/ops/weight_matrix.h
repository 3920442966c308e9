// A matrix of weights, or one rank's piece of one, where the operations want it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "llm/model/weight_format.h"

namespace voltpile::llm {

// As it lies in a file: blocks of the format along the columns. Norms and biases are no matrices: they are
// uploaded as fp32.
struct MatrixSource {
    WeightFormat format{};
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::size_t row_bytes = 0;  // from row to row; more than the columns take when it is a piece by columns
    const std::byte* data = nullptr;
    bool stays = false;  // data stays, unchanged, for as long as the matrix: a mapped file
};

// In the layout of the Ops that made it; only that can use it.
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
