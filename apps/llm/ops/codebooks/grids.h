// The grids of GGUF's codebook formats: constants of the formats, as the gguf package has them. An entry has
// the indices of 8 weights in 2 bits each (IQ1, IQ2), or of 4 weights in 4 bits each (IQ3), the first weight
// in the lowest bits. Cores and GPUs share them.
//
// Not inline: objects of CPU kernels must not share symbols (tests/check_kernel_symbols.sh).
#pragma once

#include <cstdint>

#include "llm/ops/codebooks/grids_1.h"
#include "llm/ops/codebooks/grids_2.h"
#include "llm/ops/codebooks/grids_3.h"

namespace voltpile::llm {

// What the indices stand for.
constexpr std::int8_t iq1_values[] = {-8, 0, 8};  // in eighths, as the offset of 0.125
constexpr std::int8_t iq2_values[] = {8, 25, 43};
constexpr std::int8_t iq3_xxs_values[] = {4, 12, 20, 28, 36, 44, 52, 62};
constexpr std::int8_t iq3_s_values[] = {1, 3, 5, 7, 9, 11, 13, 15};

}  // namespace voltpile::llm
