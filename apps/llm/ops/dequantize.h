// Dequantizes weights to fp32. This is the reference: every kernel must see exactly these values.
//
// Block layouts, little-endian, from ggml's quantization formats (d, dmin: fp16; q: packed integers). Each
// product and each difference below is rounded to fp32. Name, weights in a block, fields in order, formula:
//   Q8_0   32: d, q int8                              w = d * q
//   Q4_0   32: d, q 4 bits, first half in low nibbles w = d * (q - 8)
//   Q4_K  256: d, dmin, 8 pairs (scale, min) of 6 bits, one for 32 weights, q 4 bits
//                                                     w = (d * scale) * q - dmin * min
//   Q5_K  256: as Q4_K, with the fifth bits of q in a separate plane before the 4-bit plane
//   Q6_K  256: q 6 bits in planes of 4 and 2 bits, 16 scales int8, one for 16 weights, d
//                                                     w = (d * scale) * (q - 32)
//   Q4_1   32: d, m fp16, q 4 bits as in Q4_0         w = d * q + m
//   Q5_0   32: d, the fifth bits of q, q as in Q4_0   w = d * (q - 16)
//   Q5_1   32: d, m, then as Q5_0                     w = d * q + m
//   IQ4_NL 32: d, q 4 bits as in Q4_0                 w = d * iq4_value(q)
//   MXFP4  32: e uint8, q 4 bits as in Q4_0           w = 2^(e - 127) * q as a float of 1, 2 and 1 bits
//   Q2_K  256: 16 bytes with scale and min in the low and high nibble, one for 16 weights, q 2 bits, d, dmin
//                                                     w = (d * scale) * q - dmin * min
//   Q3_K  256: the third bits of q, q 2 bits, 16 scales of 6 bits, d
//                                                     w = (d * (scale - 32)) * (q - 4)
//   IQ4_XS 256: d, 8 scales of 6 bits, q 4 bits       w = (d * (scale - 32)) * iq4_value(q)
//   IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S: see codebooks/codebook_block.h
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "llm/model/weight_format.h"

namespace voltpile::llm {

// Dequantizes `columns` weights, beginning with the block at `row`, to `out`. columns: a multiple of the
// format's block size.
void dequantize_row(WeightFormat format, const std::byte* row, std::int64_t columns, float* out);

// The scales and minima of the 8 parts of a Q4_K or Q5_K block, 0 to 63.
struct SixBitScales {
    std::array<std::uint8_t, 8> scale;
    std::array<std::uint8_t, 8> min;
};

// Unpacks the 12 bytes at `packed`.
SixBitScales unpack_six_bit_scales(const std::uint8_t* packed);

// The weight of a nibble of IQ4_NL and IQ4_XS in units of its scale.
std::int8_t iq4_value(int q);

}  // namespace voltpile::llm
