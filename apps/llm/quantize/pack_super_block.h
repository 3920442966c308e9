// Fits 256 weights and writes them as a block of one of the K formats; layouts in ops/dequantize.h.
#pragma once

#include <cstdint>

#include "llm/quantize/super_block.h"

namespace voltpile::llm {

// x, importance: 256 numbers. out: block_bytes(format) bytes.
void pack_q2_k(const float* x, const float* importance, std::uint8_t* out);
void pack_q3_k(const float* x, const float* importance, std::uint8_t* out);
void pack_q4_k(const float* x, const float* importance, std::uint8_t* out);
void pack_q5_k(const float* x, const float* importance, std::uint8_t* out);
void pack_q6_k(const float* x, const float* importance, std::uint8_t* out);

}  // namespace voltpile::llm
