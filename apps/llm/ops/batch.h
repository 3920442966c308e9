// A batch on the host, with arrays of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "llm/ops/batch_view.h"

namespace voltpile::llm {

// A batch on the host, before its upload. The arrays are those of BatchView; `adapter` is empty if no row has
// one, and `hidden_row` unless a prediction layer computes the batch.
struct Batch {
    std::vector<std::int32_t> token, position, sequence, row_begin, page_table, logit_row, adapter,
        hidden_row;
    int max_pages = 0;
    int prediction_layer = 0;  // that computes the batch, of several
};

// Returns the rows in the order of their adapters, those without one last.
inline std::vector<std::int32_t> order_of(const std::vector<std::int32_t>& adapter) {
    std::vector<std::int32_t> rows(adapter.size());
    std::iota(rows.begin(), rows.end(), 0);
    std::ranges::stable_sort(rows, {}, [&](std::int32_t row) {
        return static_cast<std::uint32_t>(adapter[static_cast<std::size_t>(row)]);
    });
    return rows;
}

}  // namespace voltpile::llm
