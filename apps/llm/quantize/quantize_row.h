// Quantizes rows of weights: the inverse of dequantize_row() with the least weighted squared error that a
// search over scales finds. The search and its formulas are in scale_fit.h and super_block.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "llm/model/weight_format.h"

namespace voltpile::llm {

// Whether quantize_row() writes a format.
bool can_quantize_to(WeightFormat format);

// The largest magnitude of a weight that all formats below 32 bits can hold.
inline constexpr float kLargestWeight = 65504;

// Quantizes `columns` weights, a multiple of the format's block size, to row_bytes(format, columns) bytes at
// `out`. x: finite, at most kLargestWeight in magnitude. importance: (columns), not negative, what an error
// of each weight costs; nullptr: all the same. F32, F16, BF16 and Q8_0 do not use it. Thread-safe. Throws
// std::invalid_argument for formats that it does not write.
void quantize_row(WeightFormat format, const float* x, const float* importance, std::int64_t columns,
                  std::byte* out);

}  // namespace voltpile::llm
