// Which products of a layer may be sums of integers, and how much memory copies of their weights take.
#pragma once

#include <cstdint>

#include "llm/model/model_source.h"
#include "llm/model/tensor_parallel.h"

namespace voltpile::llm {

// Returns the bytes of the copies as integers (integer_copy_bytes()) of a layer's weights on a rank: of the
// matrices for which the decoder calls Ops::allow_integers(), on GPUs with as much shared memory as those of
// compute capability 9.0. Others may leave out those of wide rows (most_integer_columns()).
std::uint64_t integer_bytes_of_layer(const ModelSource& model, const RankShare& share, std::int64_t layer);

}  // namespace voltpile::llm
