// Dequantizes weights to fp32. This is the reference: every kernel must see exactly these values.
//
// dequantize.cpp and codebooks/codebook_block.h have the layouts of blocks, from ggml's quantization formats.
// Those of NF4, FP4, UINT4 and F8_E4M3 are Voltpile's own; their weights are bit-identical to those of
// bitsandbytes, AutoAWQ and torch in fp32.
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

}  // namespace voltpile::llm
