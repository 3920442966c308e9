#include "llm/ops/dequantize.h"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/half.h"
#include "llm/model/code_levels.h"
#include "llm/model/float8.h"
#include "llm/ops/codebooks/codebook_block.h"
#include "llm/ops/codebooks/iq4_values.h"

namespace voltpile::llm {
namespace {

template <class T>
T read(const void* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

float half_at(const std::uint8_t* from) {
    return float_from_half(read<std::uint16_t>(from));
}

// Writes the weights of a block. Here: those of codebook formats.
template <WeightFormat format>
void dequantize_block(const std::uint8_t* block, float* out) {
    CodebookBlock unpacked;
    unpack_codebook<format>(block, unpacked);
    for (int i = 0; i < 256; ++i) out[i] = unpacked.scale[i / 16] * static_cast<float>(unpacked.integer[i]);
}

// Block: d, q int8. w = d * q
template <>
void dequantize_block<WeightFormat::Q8_0>(const std::uint8_t* block, float* out) {
    const float d = half_at(block);
    for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(std::bit_cast<std::int8_t>(block[2 + i]));
}

// Block: d, q 4 bits, the first half in low nibbles. w = d * (q - 8)
template <>
void dequantize_block<WeightFormat::Q4_0>(const std::uint8_t* block, float* out) {
    const float d = half_at(block);
    for (int i = 0; i < 16; ++i) {
        out[i] = d * static_cast<float>((block[2 + i] & 15) - 8);
        out[16 + i] = d * static_cast<float>((block[2 + i] >> 4) - 8);
    }
}

// Q4_K and Q5_K: parts 2p and 2p + 1 share 32 bytes of nibbles. Bit `part` of high[i] is the fifth bit of the
// part's weight i; nullptr: Q4_K, which has no fifth bits.
void k_block(const std::uint8_t* block, const std::uint8_t* high, const std::uint8_t* nibbles, float* out) {
    const float d = half_at(block);
    const float dmin = half_at(block + 2);
    const SixBitScales six = unpack_six_bit_scales(block + 4);
    for (std::size_t part = 0; part < 8; ++part) {
        const float scale = d * static_cast<float>(six.scale[part]);
        const float min = dmin * static_cast<float>(six.min[part]);
        const std::uint8_t* packed = nibbles + 32 * (part / 2);
        for (int i = 0; i < 32; ++i) {
            int q = part % 2 == 0 ? packed[i] & 15 : packed[i] >> 4;
            if (high != nullptr) q |= (high[i] >> part & 1) << 4;
            out[32 * part + i] = scale * static_cast<float>(q) - min;
        }
    }
}

// Block: q 6 bits in planes of 4 and 2 bits, 16 scales int8, one for 16 weights, d.
// w = (d * scale) * (q - 32)
// A block has two halves of 128 weights with four quarters of 32. Weight i of quarter j has its low four bits
// in nibble j / 2 of byte 32 * (j % 2) + i of the half's 4-bit plane, and its high two bits in bits 2j and
// 2j + 1 of byte i of the half's 2-bit plane.
template <>
void dequantize_block<WeightFormat::Q6_K>(const std::uint8_t* block, float* out) {
    const float d = half_at(block + 208);
    for (int half = 0; half < 2; ++half) {
        const std::uint8_t* low = block + 64 * half;
        const std::uint8_t* high = block + 128 + 32 * half;
        for (int j = 0; j < 4; ++j) {
            for (int i = 0; i < 32; ++i) {
                const int q = (low[32 * (j % 2) + i] >> (j < 2 ? 0 : 4) & 15) | (high[i] >> 2 * j & 3) << 4;
                const auto scale = std::bit_cast<std::int8_t>(block[192 + 8 * half + 2 * j + i / 16]);
                out[128 * half + 32 * j + i] = d * static_cast<float>(scale) * static_cast<float>(q - 32);
            }
        }
    }
}

// A block of 32 nibbles: the low nibbles of 16 bytes, then the high ones.
int nibble(const std::uint8_t* packed, int i) {
    return i < 16 ? packed[i] & 15 : packed[i - 16] >> 4;
}

// Block: d, m fp16, q 4 bits as in Q4_0. w = d * q + m
template <>
void dequantize_block<WeightFormat::Q4_1>(const std::uint8_t* block, float* out) {
    const float d = half_at(block), m = half_at(block + 2);
    for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(nibble(block + 4, i)) + m;
}

// Q5_0 and Q5_1: bit i of the word at `high` is the fifth bit of weight i.
int five_bits(const std::uint8_t* high, int i) {
    return nibble(high + 4, i) | static_cast<int>(read<std::uint32_t>(high) >> i & 1) << 4;
}

// Block: d, the fifth bits of q, q as in Q4_0. w = d * (q - 16)
template <>
void dequantize_block<WeightFormat::Q5_0>(const std::uint8_t* block, float* out) {
    const float d = half_at(block);
    for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(five_bits(block + 2, i) - 16);
}

// Block: d, m, then as Q5_0. w = d * q + m
template <>
void dequantize_block<WeightFormat::Q5_1>(const std::uint8_t* block, float* out) {
    const float d = half_at(block), m = half_at(block + 2);
    for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(five_bits(block + 4, i)) + m;
}

// Block: d, q 4 bits as in Q4_0. w = d * iq4_values[q]
template <>
void dequantize_block<WeightFormat::IQ4_NL>(const std::uint8_t* block, float* out) {
    const float d = half_at(block);
    for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(iq4_values[nibble(block + 2, i)]);
}

// Block: e uint8, q 4 bits as in Q4_0. w = 2^(e - 127) * q as a float of 1, 2 and 1 bits
// The scale is half of 2^(e - 127), subnormal below 2^-126, since the table has twice the values.
template <>
void dequantize_block<WeightFormat::MXFP4>(const std::uint8_t* block, float* out) {
    constexpr std::array<float, 8> values = {0, 1, 2, 3, 4, 6, 8, 12};
    const std::uint32_t e = block[0];
    const float d = std::bit_cast<float>(e < 2 ? 0x00200000u << e : (e - 1) << 23);
    for (int i = 0; i < 32; ++i) {
        const int q = nibble(block + 1, i);
        const float value = values[static_cast<std::size_t>(q & 7)];
        out[i] = d * (q > 8 ? -value : value);
    }
}

// Block: d fp32, two parts of 32 weights as in Q4_0. w = d * level[q]
void level_block(const CodeLevels& levels, const std::uint8_t* block, float* out) {
    const auto d = read<float>(block);
    for (int i = 0; i < 64; ++i) {
        const int q = nibble(block + 4 + i / 32 * 16, i % 32);
        out[i] = d * levels.of_code[q];
    }
}

template <>
void dequantize_block<WeightFormat::NF4>(const std::uint8_t* block, float* out) {
    level_block(nf4_levels, block, out);
}

template <>
void dequantize_block<WeightFormat::FP4>(const std::uint8_t* block, float* out) {
    level_block(fp4_levels, block, out);
}

// Block: d, z fp16, q 4 bits as in Q4_0. w = d * (q - z)
template <>
void dequantize_block<WeightFormat::UINT4>(const std::uint8_t* block, float* out) {
    const float d = half_at(block), z = half_at(block + 2);
    for (int i = 0; i < 32; ++i) out[i] = d * (static_cast<float>(nibble(block + 4, i)) - z);
}

// Block: d fp32, 64 floats of 8 bits. w = d * float8
template <>
void dequantize_block<WeightFormat::F8_E4M3>(const std::uint8_t* block, float* out) {
    const auto d = read<float>(block);
    for (int i = 0; i < 64; ++i) out[i] = d * float_from_float8(block[4 + i]);
}

// Weight i of quarter j of a half has bits 2j and 2j + 1 of byte i of the half's 32 bytes.
int bit_pair(const std::uint8_t* packed, int weight) {
    return packed[weight / 128 * 32 + weight % 32] >> weight / 32 % 4 * 2 & 3;
}

// Block: 16 bytes with scale and min in the low and high nibble, one for 16 weights, q 2 bits, d, dmin.
// w = (d * scale) * q - dmin * min
template <>
void dequantize_block<WeightFormat::Q2_K>(const std::uint8_t* block, float* out) {
    const float d = half_at(block + 80), dmin = half_at(block + 82);
    for (int i = 0; i < 256; ++i) {
        const std::uint8_t both = block[i / 16];
        const float scale = d * static_cast<float>(both & 15), min = dmin * static_cast<float>(both >> 4);
        out[i] = scale * static_cast<float>(bit_pair(block + 16, i)) - min;
    }
}

// The scales of 16 weights each (-32 to 31) and the weights (-4 to 3) of a Q3_K block.
struct Q3Integers {
    std::array<std::int8_t, 16> scale;
    std::array<std::int8_t, 256> weight;
};
Q3Integers unpack_q3_k(const std::uint8_t* block) {
    Q3Integers out{};
    const std::uint8_t* packed = block + 96;
    for (int k = 0; k < 16; ++k) {
        const int low = k < 8 ? packed[k] & 15 : packed[k - 8] >> 4;
        const int high = packed[8 + k % 4] >> k / 4 * 2 & 3;
        out.scale[static_cast<std::size_t>(k)] = static_cast<std::int8_t>((low | high << 4) - 32);
    }
    for (int i = 0; i < 256; ++i) {
        const int third = block[i % 32] >> i / 32 & 1;
        out.weight[static_cast<std::size_t>(i)] =
            static_cast<std::int8_t>((bit_pair(block + 32, i) | third << 2) - 4);
    }
    return out;
}

// Block: the third bits of q, q 2 bits, 16 scales of 6 bits, d. w = (d * (scale - 32)) * (q - 4)
template <>
void dequantize_block<WeightFormat::Q3_K>(const std::uint8_t* block, float* out) {
    const float d = half_at(block + 108);
    const Q3Integers integers = unpack_q3_k(block);
    for (std::size_t i = 0; i < 256; ++i)
        out[i] = d * static_cast<float>(integers.scale[i / 16]) * static_cast<float>(integers.weight[i]);
}

// Block: d, 8 scales of 6 bits, q 4 bits. w = (d * (scale - 32)) * iq4_values[q]
template <>
void dequantize_block<WeightFormat::IQ4_XS>(const std::uint8_t* block, float* out) {
    const float d = half_at(block);
    const int high = read<std::uint16_t>(block + 2);
    for (int part = 0; part < 8; ++part) {
        const int low = block[4 + part / 2] >> part % 2 * 4 & 15;
        const float scale = d * static_cast<float>((low | (high >> 2 * part & 3) << 4) - 32);
        const std::uint8_t* packed = block + 8 + 16 * part;
        for (int i = 0; i < 32; ++i)
            out[32 * part + i] = scale * static_cast<float>(iq4_values[nibble(packed, i)]);
    }
}

template <>
void dequantize_block<WeightFormat::F32>(const std::uint8_t* from, float* out) {
    *out = read<float>(from);
}
template <>
void dequantize_block<WeightFormat::F16>(const std::uint8_t* from, float* out) {
    *out = half_at(from);
}
template <>
void dequantize_block<WeightFormat::BF16>(const std::uint8_t* from, float* out) {
    *out = std::bit_cast<float>(static_cast<std::uint32_t>(read<std::uint16_t>(from)) << 16);
}
// Block: d, dmin, 8 pairs (scale, min) of 6 bits, one for 32 weights, q 4 bits. w = (d * scale) * q - dmin *
// min
template <>
void dequantize_block<WeightFormat::Q4_K>(const std::uint8_t* block, float* out) {
    k_block(block, nullptr, block + 16, out);
}
// Block: as Q4_K, with the fifth bits of q in a separate plane before the 4-bit plane.
template <>
void dequantize_block<WeightFormat::Q5_K>(const std::uint8_t* block, float* out) {
    k_block(block, block + 16, block + 48, out);
}

template <WeightFormat format>
void dequantize_row_of(const std::byte* row, std::int64_t columns, float* out) {
    const auto* from = reinterpret_cast<const std::uint8_t*>(row);
    constexpr auto block = static_cast<std::int64_t>(block_size(format));
    for (std::int64_t c = 0; c < columns; c += block, from += block_bytes(format))
        dequantize_block<format>(from, out + c);
}

constexpr auto row_functions = []<std::size_t... i>(std::index_sequence<i...>) {
    return std::array{dequantize_row_of<static_cast<WeightFormat>(i)>...};
}
(std::make_index_sequence<kWeightFormats.size()>());

}  // namespace

SixBitScales unpack_six_bit_scales(const std::uint8_t* packed) {
    SixBitScales six{};
    for (std::size_t j = 0; j < 4; ++j) {
        const std::uint8_t a = packed[j], b = packed[4 + j], c = packed[8 + j];
        six.scale[j] = a & 63;
        six.min[j] = b & 63;
        six.scale[4 + j] = static_cast<std::uint8_t>((c & 15) | (a >> 6) << 4);
        six.min[4 + j] = static_cast<std::uint8_t>(c >> 4 | (b >> 6) << 4);
    }
    return six;
}

void dequantize_row(WeightFormat format, const std::byte* row, std::int64_t columns, float* out) {
    row_functions[static_cast<std::size_t>(format)](row, columns, out);
}

}  // namespace voltpile::llm
