// Quantizes blocks of IQ4_NL and IQ4_XS, whose 16 levels are not evenly spaced (iq4_values).
#pragma once

#include <cstdint>

namespace voltpile::llm {

// x, importance: 32 weights, or 256 for IQ4_XS; importance: not negative. out: the block.
void pack_iq4_nl(const float* x, const float* importance, std::uint8_t* out);
void pack_iq4_xs(const float* x, const float* importance, std::uint8_t* out);

}  // namespace voltpile::llm
