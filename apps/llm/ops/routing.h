// The choice of experts on the host, and the memory of a Routing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "llm/ops/operands.h"

namespace voltpile::llm {

// Returns the bytes of a Routing's arrays for at most `rows` rows.
std::size_t routing_bytes(std::int64_t rows, int experts, int used);
// Lays the arrays out in `memory`, of at least routing_bytes(). shared: whether there is a shared expert. A
// rank that has only some of the experts sets all_experts.
Routing routing_in(void* memory, std::int64_t rows, int experts, int used, bool shared);

// Sets the experts and weights of row `row` from its logits (settings.experts), see Ops::route(). empty: the
// row has no experts.
void choose_experts(const float* logits, const RouterSettings& settings, bool empty, std::int64_t row,
                    const Routing& to);

// Sets place, row and begin from the experts of all rows.
void sort_by_expert(std::int64_t rows, const Routing& routing);

}  // namespace voltpile::llm
