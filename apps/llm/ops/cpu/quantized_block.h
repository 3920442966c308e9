// Activations as 8-bit integers, for products with quantized weights.
#pragma once

#include <cstdint>

namespace voltpile::llm {

constexpr int quantized_columns = 32;

// 32 consecutive activations, each scale * q within scale / 2. The sums serve formats whose weights are
// stored with an offset or a minimum.
struct alignas(64) QuantizedBlock {
    std::int8_t q[quantized_columns];  // -127 to 127
    float scale;                       // largest magnitude / 127; NaN if an activation is not finite
    float sum;                         // scale * sum of q
    std::int32_t minus_128_sums;       // -128 * sum of q
    std::int32_t minus_8_sums;
    std::int32_t minus_32_sums[2];  // of each half
    float half_sums[2];             // scale * sum of q of each half
};
static_assert(sizeof(QuantizedBlock) == 64);

// Returns the blocks from one row to the next. An odd number: multiples of 64 blocks (4 KB) would put the
// same columns of all rows into one set of the first-level cache.
constexpr std::int64_t quantized_stride(std::int64_t columns) {
    return columns / quantized_columns | 1;
}

}  // namespace voltpile::llm
