// Unpacks blocks of GGUF's codebook formats: IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS and IQ3_S. A block
// has 256 weights, in groups whose magnitudes are an entry of a grid.
//
// Fields, little-endian (d: fp16; sign bits: 1 is negative; "7 signs": those of 8 weights, whose number of
// negative ones is even). Each product is rounded to fp32.
//   IQ2_XXS  d, 8 parts of 32: 4 grid indices uint8, uint32 with 4 x 7 signs and a scale of 4 bits
//            w = d * (0.5 + scale) * 0.25 * grid
//   IQ2_XS   d, 32 uint16 with an index of 9 bits and 7 signs, 16 scales of 4 bits
//            w as IQ2_XXS
//   IQ2_S    d, low 8 bits of 32 indices, 32 bytes of signs, high 2 bits of the indices, 16 scales of 4 bits
//            w as IQ2_XXS
//   IQ3_XXS  d, 64 indices uint8, 8 uint32 as in IQ2_XXS
//            w = d * (0.5 + scale) * 0.5 * grid
//   IQ3_S    d, low 8 bits of 64 indices, ninth bits, 32 bytes of signs, 8 scales of 4 bits
//            w = d * (1 + 2 * scale) * grid
//   IQ1_S    d, low 8 bits of 32 indices, 8 uint16 with 4 x 3 high bits, a scale of 3 bits and a sign
//            w = d * (2 * scale + 1) * (grid + 0.125 or - 0.125)
//   IQ1_M    low 8 bits of 32 indices, 32 nibbles with 3 high bits and a sign, 4 uint16 with 4 x 3 bits of
//            scales and, in their high nibbles, d
//            w as IQ1_S
#pragma once

#include <cstdint>

#include "llm/model/weight_format_list.h"

namespace voltpile::llm {

// weight i is scale[i / 16] * integer[i], rounded to fp32.
struct CodebookBlock {
    alignas(64) float scale[16];
    alignas(64) std::int8_t integer[256];
};

template <WeightFormat format>
void unpack_codebook(const std::uint8_t* block, CodebookBlock& to);
template <>
void unpack_codebook<WeightFormat::IQ1_S>(const std::uint8_t* block, CodebookBlock& to);
template <>
void unpack_codebook<WeightFormat::IQ1_M>(const std::uint8_t* block, CodebookBlock& to);
template <>
void unpack_codebook<WeightFormat::IQ2_XXS>(const std::uint8_t* block, CodebookBlock& to);
template <>
void unpack_codebook<WeightFormat::IQ2_XS>(const std::uint8_t* block, CodebookBlock& to);
template <>
void unpack_codebook<WeightFormat::IQ2_S>(const std::uint8_t* block, CodebookBlock& to);
template <>
void unpack_codebook<WeightFormat::IQ3_XXS>(const std::uint8_t* block, CodebookBlock& to);
template <>
void unpack_codebook<WeightFormat::IQ3_S>(const std::uint8_t* block, CodebookBlock& to);

}  // namespace voltpile::llm
