// The first of the two products with the factors of adapters (adapters.h).
#pragma once

#include "llm/ops/cuda/adapters.h"

namespace voltpile::llm {

// Whether a block has only one row of so many: few blocks would leave most multiprocessors without work.
constexpr bool few_adapted_rows(int rows) {
    return rows <= 16;
}

// Sets args.reduced for all rows of args.order that have an adapter.
void launch_reduce_rows(const AdapterArgs& args, const Stream& stream);

// The same for sorted pairs. by_row: x has a row for each row of the batch, otherwise for each sorted pair.
// few: most pairs have factors of their own.
void launch_reduce_pairs(const ExpertAdapterArgs& args, bool by_row, bool few, const Stream& stream);

}  // namespace voltpile::llm
