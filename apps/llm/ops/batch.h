// A batch on the host, with arrays of its own.
#pragma once

#include <cstdint>
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

}  // namespace voltpile::llm
