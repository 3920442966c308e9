// How CpuOps divides a matrix product into work items for its threads.
#pragma once

#include <cstdint>

#include "llm/ops/cpu/kernels.h"
#include "llm/ops/weight_matrix.h"

namespace voltpile::llm {

// Returns the matrix rows in one work item: few, so that all threads finish at about the same time, but at
// least a panel where the kernel expands panels. rows: of x.
inline std::int64_t weights_of_item(std::int64_t rows) {
    return rows < 8 ? 16 : product_weights;
}

inline std::int64_t items_of(const WeightMatrix& weight, std::int64_t rows) {
    const std::int64_t each = weights_of_item(rows);
    return (weight.rows() + each - 1) / each;
}

}  // namespace voltpile::llm
