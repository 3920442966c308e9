// Divides the rows of a batch into two lanes. In a tensor-parallel group, a pass of many rows goes through
// the layers lane by lane, so that the sum over the ranks of one lane runs beside the products of the other.
#pragma once

#include <vector>

#include "llm/ops/batch.h"

namespace voltpile::llm {

// The least rows of a pass with two lanes.
constexpr int least_overlap_rows = 512;

// Returns the rows of the first of two lanes of a pass with `rows` rows, at least `least`: half of the rows,
// rounded to a multiple of half of `least`, so that products have no more tiles than without lanes, and up to
// a multiple of the ranks, which share the rows of each lane. least: even, at least 4 * ranks.
int first_lane_rows(int rows, int least, int ranks);

// Returns the first `rows` rows of a batch, and the others: two batches without logits. A sequence may have
// rows in both; its positions continue in the second. The batch has no empty rows and is not one of a
// prediction layer; 0 < rows < its rows.
std::vector<Batch> divided(const Batch& batch, int rows);

}  // namespace voltpile::llm
