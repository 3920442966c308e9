// Reads units of 32 weights from blocks of IQ2 and IQ3 as files have them (codebooks/codebook_block.h).
#pragma once

#include "llm/model/weight_format_list.h"
#include "llm/ops/codebooks/block_bits.h"
#include "llm/ops/cuda/grids/bits.h"

namespace voltpile::llm {

// 4 times 7 signs and a scale of 4 bits.
struct SignsAndScale {
    std::uint32_t negative, scales;
};
VOLTPILE_HOST_DEVICE inline SignsAndScale signs_and_scale(std::uint32_t word) {
    SignsAndScale out{0, (word >> 28) * 0x11};
    for (int i = 0; i < 4; ++i) out.negative |= even_signs(word >> 7 * i & 127) << 8 * i;
    return out;
}

// Returns unit `part` of a block of 256 weights.
template <WeightFormat>
VOLTPILE_HOST_DEVICE GridUnit grid_unit(const std::uint8_t* block, int part);

template <>
VOLTPILE_HOST_DEVICE inline GridUnit grid_unit<WeightFormat::IQ2_XXS>(const std::uint8_t* block, int part) {
    const std::uint8_t* from = block + 2 + 8 * part;
    const SignsAndScale both = signs_and_scale(block_word(from + 4));
    const std::uint32_t index[4] = {from[0], from[1], from[2], from[3]};
    return iq2_unit(index, both.negative, both.scales);
}

template <>
VOLTPILE_HOST_DEVICE inline GridUnit grid_unit<WeightFormat::IQ2_XS>(const std::uint8_t* block, int part) {
    std::uint32_t index[4], negative = 0;
    for (int i = 0; i < 4; ++i) {
        const std::uint32_t both = block_half(block + 2 + 8 * part + 2 * i);
        index[i] = both & 511;
        negative |= even_signs(both >> 9) << 8 * i;
    }
    return iq2_unit(index, negative, block[66 + part]);
}

template <>
VOLTPILE_HOST_DEVICE inline GridUnit grid_unit<WeightFormat::IQ2_S>(const std::uint8_t* block, int part) {
    std::uint32_t index[4];
    for (int i = 0; i < 4; ++i)
        index[i] = block[2 + 4 * part + i] | (static_cast<std::uint32_t>(block[66 + part]) >> 2 * i & 3) << 8;
    return iq2_unit(index, block_word(block + 34 + 4 * part), block[74 + part]);
}

template <>
VOLTPILE_HOST_DEVICE inline GridUnit grid_unit<WeightFormat::IQ3_XXS>(const std::uint8_t* block, int part) {
    const SignsAndScale both = signs_and_scale(block_word(block + 66 + 4 * part));
    std::uint32_t index[8];
    for (int e = 0; e < 8; ++e) index[e] = block[2 + 8 * part + e];
    return iq3_unit(index, both.negative, both.scales);
}

template <>
VOLTPILE_HOST_DEVICE inline GridUnit grid_unit<WeightFormat::IQ3_S>(const std::uint8_t* block, int part) {
    std::uint32_t index[8];
    for (int e = 0; e < 8; ++e)
        index[e] = block[2 + 8 * part + e] | (static_cast<std::uint32_t>(block[66 + part]) >> e & 1) << 8;
    const std::uint32_t scale = static_cast<std::uint32_t>(block[106 + part / 2]) >> part % 2 * 4 & 15;
    return iq3_unit(index, block_word(block + 74 + 4 * part), scale * 0x11);
}

}  // namespace voltpile::llm
