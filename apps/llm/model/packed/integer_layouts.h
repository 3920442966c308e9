// The layouts in which integer methods store a matrix.
#pragma once

#include <memory>

#include "llm/model/packed/packed_parts.h"
#include "llm/model/packed/quantization.h"

namespace voltpile::llm {

// All throw FileError for parts that are missing or contradict each other. Rows and columns are those of the
// matrix; word and group counts are rounded up where a method allows it.

// qweight int32[columns / n][rows], n = 32 / bits numbers in a word, the first column in the lowest bits;
// qzeros int32[groups][rows / n], zero points (in the first format minus one); scales[groups][rows];
// g_idx int32[columns], the group of each column, optional. Source: AutoGPTQ, nn_modules/qlinear.
std::unique_ptr<PackedMatrix> gptq_matrix(const PackedParts& parts, const Quantization& quantization);

// qweight int32[columns][rows / 8], rows 0, 2, 4, 6, 1, 3, 5, 7 of eight from the lowest bits; qzeros
// int32[groups][rows / 8] likewise; scales[groups][rows]. Source: AutoAWQ, modules/linear/gemm.py.
std::unique_ptr<PackedMatrix> awq_matrix(const PackedParts& parts, const Quantization& quantization);

// weight_packed int32[rows][columns / n] of numbers plus 2^(bits - 1), weight_scale[rows][groups], optionally
// weight_zero_point int32[rows / n][groups], packed likewise, weight_g_idx int32[columns], and weight_shape
// int64[2]. Source: compressed-tensors, compressors/pack_quantized.
std::unique_ptr<PackedMatrix> packed_integers_matrix(const PackedParts& parts,
                                                     const Quantization& quantization);

// weight int8[rows][columns], weight_scale[rows][groups] or one for all, optionally weight_zero_point int8 of
// the same shape. Source: compressed-tensors, compressors/naive_quantized.
std::unique_ptr<PackedMatrix> int8_matrix(const PackedParts& parts, const Quantization& quantization);

}  // namespace voltpile::llm
