// The grids of GGUF's codebook formats: constants of the formats, as the gguf package has them. An entry has
// the indices of 8 weights in 2 bits each (IQ1, IQ2), or of 4 weights in 4 bits each (IQ3), the first weight
// in the lowest bits. The values that they stand for are in codebook_block.cpp.
#pragma once

#include <array>
#include <cstdint>

namespace voltpile::llm {

extern const std::array<std::uint16_t, 2048> iq1_grid;
extern const std::array<std::uint16_t, 256> iq2_xxs_grid;
extern const std::array<std::uint16_t, 512> iq2_xs_grid;
extern const std::array<std::uint16_t, 1024> iq2_s_grid;
extern const std::array<std::uint16_t, 256> iq3_xxs_grid;
extern const std::array<std::uint16_t, 512> iq3_s_grid;

}  // namespace voltpile::llm
