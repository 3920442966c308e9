// Matrices of floating-point numbers of 8 bits (FP8). They convert to F16.
#pragma once

#include <memory>

#include "llm/model/packed/packed_parts.h"
#include "llm/model/packed/quantization.h"

namespace voltpile::llm {

// weight float8 E4M3[rows][columns] (1 sign bit, 4 of exponent with bias 7, 3 of mantissa; no infinities),
// and as fp32, fp16 or bf16 weight_scale_inv or weight_scale: one, one for each row, or one for each block of
// config.json's size. A weight is the product, rounded to fp16. Source: "FP8 Formats for Deep Learning"
// (arXiv:2209.05433), compressed-tensors. Throws FileError for parts that are missing or contradict each
// other.
std::unique_ptr<PackedMatrix> float8_matrix(const PackedParts& parts, const Quantization& quantization);

}  // namespace voltpile::llm
