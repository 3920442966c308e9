// The first of the two products with the factors of adapters (adapters.h).
#pragma once

#include "llm/ops/cuda/adapters.h"

namespace voltpile::llm {

// Whether a tile has only one of so many rows: few tiles would leave most multiprocessors without work.
constexpr bool few_adapted_rows(int rows) {
    return rows <= 16;
}
// The same of pairs: most have factors of their own.
inline bool few_adapted_pairs(const ExpertAdapterArgs& args) {
    return args.factors.rows <= 4 * args.routing.experts;
}

// Sets args.reduced for all rows, or sorted pairs, that have factors.
void launch_reduce_rows(const AdapterArgs& args, const Stream& stream);
void launch_reduce_pairs(const ExpertAdapterArgs& args, const Stream& stream);

}  // namespace voltpile::llm
