#include "llm/ops/codebooks/codebook_block.h"

#include <span>

#include "base/half.h"
#include "llm/ops/codebooks/block_bits.h"
#include "llm/ops/codebooks/grids.h"

namespace voltpile::llm {
namespace {

float block_scale(const std::uint8_t* from) {
    return float_from_half(block_half(from));
}

int block_nibble(const std::uint8_t* from, int index) {
    return from[index / 2] >> index % 2 * 4 & 15;
}

// Writes 8 weights with indices of 2 bits, or 4 with indices of 4 bits. signs: one bit each.
template <int count>
void set_weights(unsigned entry, const std::int8_t* values, unsigned signs, std::int8_t* to) {
    constexpr int bits = 16 / count;
    for (int i = 0; i < count; ++i) {
        const int value = values[entry >> bits * i & ((1u << bits) - 1)];
        to[i] = static_cast<std::int8_t>((signs >> i & 1) != 0 ? -value : value);
    }
}

float eighths(float d, int scale) {
    return d * (0.5F + static_cast<float>(scale)) * 0.25F;
}

// scale: d * (2 * scale + 1). negative: the sign of the offset.
void set_iq1(unsigned index, bool negative, std::int8_t* to) {
    set_weights<8>(iq1_grid[index], iq1_values, 0, to);
    for (int i = 0; i < 8; ++i) to[i] = static_cast<std::int8_t>(to[i] + (negative ? -1 : 1));
}

}  // namespace

template <>
void unpack_codebook<WeightFormat::IQ2_XXS>(const std::uint8_t* block, CodebookBlock& to) {
    const float d = block_scale(block);
    for (int part = 0; part < 8; ++part) {
        const std::uint8_t* const indices = block + 2 + 8 * part;
        const auto word = block_word(indices + 4);
        to.scale[2 * part] = to.scale[2 * part + 1] = eighths(d, static_cast<int>(word >> 28));
        for (int i = 0; i < 4; ++i)
            set_weights<8>(iq2_xxs_grid[indices[i]], iq2_values, even_signs(word >> 7 * i & 127),
                           to.integer + 32 * part + 8 * i);
    }
}

template <>
void unpack_codebook<WeightFormat::IQ2_XS>(const std::uint8_t* block, CodebookBlock& to) {
    const float d = block_scale(block);
    for (int i = 0; i < 16; ++i) to.scale[i] = eighths(d, block_nibble(block + 66, i));
    for (int i = 0; i < 32; ++i) {
        const unsigned word = block_half(block + 2 + 2 * i);
        set_weights<8>(iq2_xs_grid[word & 511], iq2_values, even_signs(word >> 9), to.integer + 8 * i);
    }
}

template <>
void unpack_codebook<WeightFormat::IQ2_S>(const std::uint8_t* block, CodebookBlock& to) {
    const float d = block_scale(block);
    for (int i = 0; i < 16; ++i) to.scale[i] = eighths(d, block_nibble(block + 74, i));
    for (int i = 0; i < 32; ++i) {
        const unsigned high = block[66 + i / 4] >> i % 4 * 2 & 3;
        set_weights<8>(iq2_s_grid[block[2 + i] | high << 8], iq2_values, block[34 + i], to.integer + 8 * i);
    }
}

template <>
void unpack_codebook<WeightFormat::IQ3_XXS>(const std::uint8_t* block, CodebookBlock& to) {
    const float d = block_scale(block);
    for (int part = 0; part < 8; ++part) {
        const auto word = block_word(block + 66 + 4 * part);
        to.scale[2 * part] = to.scale[2 * part + 1] = d * (0.5F + static_cast<float>(word >> 28)) * 0.5F;
        for (int i = 0; i < 8; ++i) {
            const unsigned signs = even_signs(word >> 7 * (i / 2) & 127) >> i % 2 * 4;
            set_weights<4>(iq3_xxs_grid[block[2 + 8 * part + i]], iq3_xxs_values, signs,
                           to.integer + 32 * part + 4 * i);
        }
    }
}

template <>
void unpack_codebook<WeightFormat::IQ3_S>(const std::uint8_t* block, CodebookBlock& to) {
    const float d = block_scale(block);
    for (int i = 0; i < 16; ++i)
        to.scale[i] = d * static_cast<float>(1 + 2 * block_nibble(block + 106, i / 2));
    for (int i = 0; i < 64; ++i) {
        const unsigned ninth = block[66 + i / 8] >> i % 8 & 1;
        const unsigned signs = static_cast<unsigned>(block[74 + i / 2]) >> i % 2 * 4;
        set_weights<4>(iq3_s_grid[block[2 + i] | ninth << 8], iq3_s_values, signs, to.integer + 4 * i);
    }
}

template <>
void unpack_codebook<WeightFormat::IQ1_S>(const std::uint8_t* block, CodebookBlock& to) {
    const float d = block_scale(block);
    for (int part = 0; part < 8; ++part) {
        const unsigned word = block_half(block + 34 + 2 * part);
        const float scale = d * static_cast<float>(2 * (word >> 12 & 7) + 1) * 0.125F;
        to.scale[2 * part] = to.scale[2 * part + 1] = scale;
        for (int i = 0; i < 4; ++i)
            set_iq1(block[2 + 4 * part + i] | (word >> 3 * i & 7) << 8, word >> 15 != 0,
                    to.integer + 32 * part + 8 * i);
    }
}

template <>
void unpack_codebook<WeightFormat::IQ1_M>(const std::uint8_t* block, CodebookBlock& to) {
    unsigned bits = 0;
    for (int i = 0; i < 4; ++i) bits |= static_cast<unsigned>(block_half(block + 48 + 2 * i)) >> 12 << 4 * i;
    const float d = float_from_half(static_cast<std::uint16_t>(bits));
    for (int i = 0; i < 16; ++i) {
        const int scale = block_half(block + 48 + 2 * (i / 4)) >> i % 4 * 3 & 7;
        to.scale[i] = d * static_cast<float>(2 * scale + 1) * 0.125F;
    }
    for (int i = 0; i < 32; ++i) {
        const auto high = static_cast<unsigned>(block_nibble(block + 32, i));
        set_iq1(block[i] | (high & 7) << 8, high >> 3 != 0, to.integer + 8 * i);
    }
}

}  // namespace voltpile::llm
