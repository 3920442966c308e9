// How CpuOps divides a matrix product into work items for its threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "llm/ops/cpu/kernels.h"
#include "llm/ops/cpu/strip_layout.h"

namespace voltpile::llm {

// Returns the matrix rows in one work item, of which the matrix has `matrix_rows`. rows: of x. With many rows
// of x, as many as a panel has, because kernels expand panels. With 64 and more, an item has up to 4 panels,
// as long as each thread keeps two items: the panels of an item share x in the second-level cache. With few
// rows, memory is what takes the time: as many as leave each thread some sixteen items, so that all finish at
// about the same time, because the first weights of an item have not been prefetched.
inline std::int64_t weights_of_item(std::int64_t matrix_rows, std::int64_t rows, int threads) {
    if (rows >= 64)
        return std::clamp<std::int64_t>(
            matrix_rows / (std::int64_t{2} * threads) / product_weights * product_weights, product_weights,
            4 * product_weights);
    if (rows >= 8) return product_weights;
    return std::clamp<std::int64_t>(matrix_rows / (std::int64_t{16} * threads) / strip_rows * strip_rows,
                                    strip_rows, std::int64_t{16} * strip_rows);
}

inline std::int64_t items_of(std::int64_t matrix_rows, std::int64_t rows, int threads) {
    const std::int64_t each = weights_of_item(matrix_rows, rows, threads);
    return (matrix_rows + each - 1) / each;
}

}  // namespace voltpile::llm
