// Converts rows of weights to the format in which GPUs hold them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "llm/model/weight_format.h"

namespace voltpile::llm {

// Converts `columns` weights, beginning with the block at `row`, from `from` to `to`. columns: a multiple of
// the block sizes of both. out: row_bytes(to, columns) bytes.
//
// From Q5_0 to Q8_0 and from Q4_1 to Q5_1: the weights stay bit-identical. Throws std::invalid_argument for
// other pairs.
void convert_row(WeightFormat from, const std::byte* row, std::int64_t columns, WeightFormat to,
                 std::byte* out);

}  // namespace voltpile::llm
