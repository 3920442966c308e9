// Rounds numbers to int8, and finds the largest of halves.
#pragma once

#include <cuda_fp16.h>

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

// Magnitudes of halves as bits are ordered as the numbers are, and NaN comes last.
constexpr std::uint32_t magnitudes_of_two = 0x7fff7fff;  // of the bits of two halves
__device__ __forceinline__ std::uint32_t larger_of(std::uint32_t two) {
    return max(two & 0xffff, two >> 16);
}
__device__ __forceinline__ float half_of(std::uint32_t bits) {
    return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
}

}  // namespace voltpile::llm
