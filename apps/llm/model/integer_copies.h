// Which products of a layer may be sums of integers, and how much memory copies of their weights take.
#pragma once

#include <cstdint>

#include "llm/model/model_source.h"

namespace voltpile::llm {

// Returns the bytes of the copies as integers (integer_copy_bytes()) of the weights of layers [layer_begin,
// layer_end) on the fullest of `ranks` ranks that share them: of the matrices for which the decoder calls
// Ops::allow_integers() and whose rows have at most most_columns (most_integer_columns()).
std::uint64_t integer_bytes(const ModelSource& model, int layer_begin, int layer_end, int ranks,
                            std::int64_t most_columns);

}  // namespace voltpile::llm
