// Weights as fp32, bit for bit what each format defines. This is the definition; whoever multiplies with
// weights must see these numbers.
//
// Blocks, little-endian, as ggml's quants define them (d, dmin: fp16; q: packed integers; all products and
// differences below are rounded to fp32 one by one):
//   Q8_0   32: d, q int8                              w = d * q
//   Q4_0   32: d, q 4 bits, first half in low nibbles w = d * (q - 8)
//   Q4_K  256: d, dmin, 8 pairs (scale, min) of 6 bits, q 4 bits, one pair for 32 weights
//                                                     w = (d * scale) * q - dmin * min
//   Q5_K  256: as Q4_K, with a fifth bit of each q in a plane of its own
//   Q6_K  256: q 6 bits in planes of 4 and 2, 16 scales int8, d; one scale for 16 weights
//                                                     w = (d * scale) * (q - 32)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "llm/model/weight_format.h"

namespace voltpile::llm {

// out: `columns` weights from the first block at `row` on; columns a multiple of the format's block.
void dequantize_row(WeightFormat format, const std::byte* row, std::int64_t columns, float* out);

// The scales and minima of the 8 parts of a Q4_K or Q5_K block, from its 12 packed bytes.
struct SixBitScales {
    std::array<std::uint8_t, 8> scale;
    std::array<std::uint8_t, 8> min;
};
SixBitScales unpack_six_bit_scales(const std::uint8_t* packed);

}  // namespace voltpile::llm
