// Units of 32 weights of IQ1_S and IQ1_M in GPU memory (matrix.h): read from blocks as files have them
// (codebooks/codebook_block.h), and as kernels read them.
//   indices  a byte for each index: its low 8 bits
//   high     a nibble for each index: its 3 high bits, and 1 if the offset of its 8 weights is negative
//   scales   a nibble with a scale s of 3 bits for each half of the unit
// Weights are d * (2 s + 1) / 8 times an integer: 8 times the grid plus or minus 1.
#pragma once

#include <cstdint>

#include "llm/model/weight_format_list.h"
#include "llm/ops/codebooks/block_bits.h"
#include "llm/ops/cuda/grids/bits.h"
#include "llm/ops/host_device.h"

namespace voltpile::llm {

struct Iq1Unit {
    std::uint32_t indices;
    std::uint16_t high;
    std::uint8_t scales;
};

// Returns unit `part` of a block of 256 weights.
template <WeightFormat>
VOLTPILE_HOST_DEVICE Iq1Unit iq1_unit(const std::uint8_t* block, int part);

template <>
VOLTPILE_HOST_DEVICE inline Iq1Unit iq1_unit<WeightFormat::IQ1_S>(const std::uint8_t* block, int part) {
    const std::uint32_t bits = block_half(block + 34 + 2 * part);
    std::uint32_t high = bits >> 15 != 0 ? 0x8888u : 0;
    for (int g = 0; g < 4; ++g) high |= (bits >> 3 * g & 7) << 4 * g;
    return {block_word(block + 2 + 4 * part), static_cast<std::uint16_t>(high),
            static_cast<std::uint8_t>((bits >> 12 & 7) * 0x11)};
}

template <>
VOLTPILE_HOST_DEVICE inline Iq1Unit iq1_unit<WeightFormat::IQ1_M>(const std::uint8_t* block, int part) {
    const std::uint32_t bits = block_half(block + 48 + part / 2 * 2) >> part % 2 * 6;
    return {block_word(block + 4 * part), block_half(block + 32 + 2 * part),
            static_cast<std::uint8_t>((bits & 7) | (bits >> 3 & 7) << 4)};
}

// Returns d of a block as fp16.
template <WeightFormat format>
VOLTPILE_HOST_DEVICE inline std::uint16_t iq1_block_scale(const std::uint8_t* block) {
    if (format == WeightFormat::IQ1_S) return block_half(block);
    std::uint32_t bits = 0;  // in the high nibbles of four words
    for (int i = 0; i < 4; ++i)
        bits |= static_cast<std::uint32_t>(block_half(block + 48 + 2 * i)) >> 12 << 4 * i;
    return static_cast<std::uint16_t>(bits);
}

// Returns the offset of the word of index g in bytes.
VOLTPILE_HOST_DEVICE inline std::uint32_t iq1_offset(std::uint32_t indices, std::uint32_t high, int g) {
    const std::uint32_t low = g == 0 ? indices << 2 : indices >> (8 * g - 2);
    const std::uint32_t rest = 4 * g < 10 ? high << (10 - 4 * g) : high >> (4 * g - 10);
    return (low & 0x3fc) | (rest & 0x1c00);
}
// Returns weights 8 g + 4 part to 8 g + 4 part + 3 in units of their scale as int8. word: of the grid, whose
// nibbles have the indices of -8, 0 and 8 (words.h). flip: as in iq2_weights().
VOLTPILE_HOST_DEVICE inline std::uint32_t iq1_weights(std::uint32_t word, std::uint32_t high, int g, int part,
                                                      std::uint32_t flip = 0) {
    const std::uint32_t codes = word | (high >> (4 * g + 3) & 1) * 0x44444444u;
    // -7, 1 and 9; -9, -1 and 7.
    return chosen_bytes(0x000901f9u ^ flip, 0x0007fff7u ^ flip, part == 0 ? codes : codes >> 16);
}

}  // namespace voltpile::llm
