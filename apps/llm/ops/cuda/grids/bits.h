// The bits of units of IQ2 and IQ3 in GPU memory (matrix.h): where repacking puts them, and how kernels read
// them. The instructions per weight decide how fast products are, so a shift and a mask turn most indices
// into offsets in the grid, and a shift brings signs to their weights.
//   indices, IQ2  a word: indices 0 to 2 in bits 2 to 11, 12 to 21 and 22 to 31; the high bits of index 3 in
//                 bits 0 and 1, its low bits in byte 1 of `rest`
//   indices, IQ3  two words, each with 4 indices: 0 to 2 in bits 5 to 13, 14 to 22 and 23 to 31; the low bits
//                 of index 3 in bits 0 to 4, its high bits in a nibble of byte 1 of `rest`
//   signs         1 is negative. IQ2: bit 4 k + g for weight 8 g + k; IQ3: bit 8 b + e for weight 4 e + b
//   rest          16 bits; in byte 0, 4 bits of a scale s for each half of the unit (IQ3: the same twice)
// Weights of IQ2 are d * (s + 0.5) / 4 times the grid, those of IQ3 d * (s + 0.5) / 2 times the grid.
#pragma once

#include <cstdint>

#include "llm/ops/cuda/chosen_bytes.h"
#include "llm/ops/host_device.h"

namespace voltpile::llm {

struct GridUnit {
    std::uint32_t indices[2];  // IQ2: one word
    std::uint32_t signs;
    std::uint16_t rest;
};

// index: 4 of 10 bits. negative: bit t for weight t. scales: byte 0 of `rest`.
VOLTPILE_HOST_DEVICE inline GridUnit iq2_unit(const std::uint32_t* index, std::uint32_t negative,
                                              std::uint32_t scales) {
    GridUnit unit{};
    unit.indices[0] = index[0] << 2 | index[1] << 12 | index[2] << 22 | index[3] >> 8;
    for (int t = 0; t < 32; ++t) unit.signs |= (negative >> t & 1) << (4 * (t % 8) + t / 8);
    unit.rest = static_cast<std::uint16_t>(scales | (index[3] & 255) << 8);
    return unit;
}
// index: 8 of 9 bits.
VOLTPILE_HOST_DEVICE inline GridUnit iq3_unit(const std::uint32_t* index, std::uint32_t negative,
                                              std::uint32_t scales) {
    GridUnit unit{};
    std::uint32_t rest = scales;
    for (int h = 0; h < 2; ++h, index += 4) {
        unit.indices[h] = index[0] << 5 | index[1] << 14 | index[2] << 23 | (index[3] & 31);
        rest |= index[3] >> 5 << (8 + 4 * h);
    }
    for (int t = 0; t < 32; ++t) unit.signs |= (negative >> t & 1) << (8 * (t % 4) + t / 4);
    unit.rest = static_cast<std::uint16_t>(rest);
    return unit;
}

// Return the offset of the word of an index in bytes. rest: of the unit, in the 16-bit half `half`.
VOLTPILE_HOST_DEVICE inline std::uint32_t iq2_offset(std::uint32_t indices, std::uint32_t rest, int half,
                                                     int g) {
    if (g == 0) return indices & 0xffc;
    if (g < 3) return indices >> 10 * g & 0xffc;
    return (rest >> (16 * half + 6) & 0x3fc) | (indices << 10 & 0xc00);
}
// e: index e % 4 of word e / 4.
VOLTPILE_HOST_DEVICE inline std::uint32_t iq3_offset(std::uint32_t indices, std::uint32_t rest, int half,
                                                     int e) {
    if (e % 4 < 3) return indices >> (9 * (e % 4) + 3) & 0x7fc;
    return (indices << 2 & 0x7c) | (rest >> (16 * half + 1 + e / 4 * 4) & 0x780);
}

// Returns 255 in the bytes whose highest bit is 1 and 0 in the others.
VOLTPILE_HOST_DEVICE inline std::uint32_t filled_bytes(std::uint32_t v) {
#if defined(__CUDA_ARCH__)
    std::uint32_t out;
    asm("prmt.b32 %0, %1, 0, 0xba98;" : "=r"(out) : "r"(v));
    return out;
#else
    return (v >> 7 & 0x01010101u) * 255;
#endif
}

// Return 4 weights in units of their scale as int8: weights 8 g + 4 part to 8 g + 4 part + 3 of IQ2, or 4 e
// to 4 e + 3 of IQ3. word: of the grid (words.h). Each byte is exclusive-ored with one of `flip`: 0x80 adds
// 128 and makes it unsigned.
VOLTPILE_HOST_DEVICE inline std::uint32_t iq2_weights(std::uint32_t word, std::uint32_t signs, int g,
                                                      int part, std::uint32_t flip = 0) {
    const std::uint32_t third = g <= 2 ? signs << (2 - g) : signs >> 1;  // bits of the nibbles
    const std::uint32_t codes = word | (third & 0x44444444u);
    // 8, 25 and 43 (iq2_values), and their negatives.
    return chosen_bytes(0x002b1908u ^ flip, 0x00d5e7f8u ^ flip, part == 0 ? codes : codes >> 16);
}
// No magnitude is 0: its complement plus 1 does not carry into the next byte.
VOLTPILE_HOST_DEVICE inline std::uint32_t iq3_weights(std::uint32_t word, std::uint32_t signs, int e,
                                                      std::uint32_t flip = 0) {
    const std::uint32_t negative = filled_bytes(signs << (7 - e));
    return (word ^ negative ^ flip) + (negative & 0x01010101u);
}

}  // namespace voltpile::llm
