// Rounds numbers to int8.
#pragma once

#include <cstdint>

namespace voltpile::llm {

// Returns value * inverse, each at most 127, as four bytes. Adding 1.5 * 2^23 leaves the integer in the low
// bits.
__device__ __forceinline__ std::uint32_t rounded_bytes(const float (&value)[4], float inverse) {
    std::uint32_t bits[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) bits[i] = __float_as_uint(fmaf(value[i], inverse, 0x1.8p23f));
    return __byte_perm(__byte_perm(bits[0], bits[1], 0x0040), __byte_perm(bits[2], bits[3], 0x0040), 0x5410);
}

}  // namespace voltpile::llm
