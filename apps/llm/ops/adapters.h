// The factors of several low-rank adapters for matrices that multiply the same input, before and after
// Ops::load_adapters().
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace voltpile::llm {

// The factors of one adapter on the host; the scale is in b.
struct AdapterFactors {
    int rank = 0;          // of each matrix; 0: the adapter leaves all of them as they are
    std::vector<float> a;  // (matrices, rank, columns); 0 for a matrix that the adapter leaves as it is
    std::vector<float> b;  // (rows of all matrices, rank)
};

struct AdapterSource {
    std::int64_t columns = 0;
    std::vector<std::int64_t> rows;        // of each matrix
    std::vector<AdapterFactors> adapters;  // in the order of BatchView::adapter
};

// In the layout of the Ops that loaded them; no other Ops may use them.
class AdapterWeights {
  public:
    explicit AdapterWeights(const AdapterSource& source) : columns_(source.columns), row_begin_{0} {
        for (const std::int64_t rows : source.rows) row_begin_.push_back(row_begin_.back() + rows);
        for (const AdapterFactors& factors : source.adapters) ranks_.push_back(factors.rank);
    }
    virtual ~AdapterWeights() = default;
    std::int64_t columns() const { return columns_; }
    int matrices() const { return static_cast<int>(row_begin_.size()) - 1; }
    // (matrices + 1): the outputs of matrix m are row_begin()[m] to row_begin()[m + 1] - 1 of all outputs.
    const std::vector<std::int64_t>& row_begin() const { return row_begin_; }
    const std::vector<int>& ranks() const { return ranks_; }  // of each adapter

  private:
    std::int64_t columns_;
    std::vector<std::int64_t> row_begin_;
    std::vector<int> ranks_;
};

}  // namespace voltpile::llm
