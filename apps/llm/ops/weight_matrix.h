// A weight matrix, or one rank's piece of it, before and after Ops::load_matrix().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "llm/model/weight_format.h"
#include "llm/ops/ops_memory.h"

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

// The matrices of all experts of a layer, with the same shape and format; no other Ops may use them.
class ExpertWeights {
  public:
    // matrices: at least one. bias: fp32 (experts, rows); nullptr: there is none.
    explicit ExpertWeights(std::vector<std::unique_ptr<WeightMatrix>> matrices,
                           std::unique_ptr<OpsMemory> bias = nullptr)
        : matrices_(std::move(matrices)), bias_(std::move(bias)) {}
    virtual ~ExpertWeights() = default;
    int count() const { return static_cast<int>(matrices_.size()); }
    const WeightMatrix& of(std::int64_t expert) const { return *matrices_[static_cast<std::size_t>(expert)]; }
    std::int64_t rows() const { return of(0).rows(); }
    std::int64_t columns() const { return of(0).columns(); }
    // Returns what the product with each expert adds, in device memory.
    const float* bias() const { return bias_ ? static_cast<const float*>(bias_->data()) : nullptr; }

  private:
    std::vector<std::unique_ptr<WeightMatrix>> matrices_;
    std::unique_ptr<OpsMemory> bias_;
};

}  // namespace voltpile::llm
