#pragma once

#include <cstdint>

namespace voltpile::llm {

// The weights of IQ4_NL and IQ4_XS in units of their scale, one for each nibble. Not inline: objects of CPU
// kernels must not share symbols (tests/check_kernel_symbols.sh).
alignas(16) constexpr std::int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                    1,    13,   25,  38,  53,  69,  89,  113};

}  // namespace voltpile::llm
