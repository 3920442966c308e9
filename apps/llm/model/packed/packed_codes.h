// Matrices of 4-bit codes into a table of 16 numbers, as bitsandbytes packs them: NF4 and FP4. They convert
// to F16.
#pragma once

#include <memory>

#include "llm/model/packed/packed_parts.h"
#include "llm/model/packed/quantization.h"

namespace voltpile::llm {

// weight uint8[rows * columns / 2][1] (codes row after row, the first of a byte in its high nibble),
// weight.quant_map fp32[16], weight.absmax with one scale for each `blocksize` weights, counted over all
// rows, and weight.quant_state.bitsandbytes__nf4 (or fp4), JSON as text with shape and blocksize. A weight is
// quant_map[code] * scale, rounded to fp16. Scales are fp32, or (double quantization) uint8 codes:
// weight.nested_quant_map[code] * weight.nested_absmax[block / nested_blocksize] + nested_offset. Source:
// "QLoRA" (arXiv:2305.14314), bitsandbytes. Throws FileError for parts that are missing or contradict each
// other.
std::unique_ptr<PackedMatrix> bitsandbytes_matrix(const PackedParts& parts, const Quantization& quantization);

}  // namespace voltpile::llm
