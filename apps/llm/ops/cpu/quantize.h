// Rounds activations to 8-bit integers.
#pragma once

#include "llm/ops/cpu/lanes.h"
#include "llm/ops/cpu/quantized_block.h"

namespace voltpile::llm {
inline namespace VOLTPILE_TARGET {
namespace {

VOLTPILE_INLINE float largest_of(Lanes lanes) {
#if defined(__AVX512F__)
    return _mm512_reduce_max_ps(lanes.v);
#else
    float top = lanes.lane(0);
    for (int i = 1; i < lane_count; ++i) top = lanes.lane(i) > top ? lanes.lane(i) : top;
    return top;
#endif
}

VOLTPILE_INLINE std::int32_t integer_sum(IntLanes lanes) {
#if defined(__AVX512F__)
    return _mm512_reduce_add_epi32((__m512i)lanes.v);
#else
    std::int32_t total = 0;
    for (int i = 0; i < lane_count; ++i) total += lanes.lane(i);
    return total;
#endif
}

void quantize(const float* x, std::int64_t columns, QuantizedBlock* to) {
    for (std::int64_t c = 0; c < columns; c += quantized_columns, ++to, x += quantized_columns) {
        Lanes largest = {}, finite = {};
        for (int i = 0; i < quantized_columns; i += lane_count) {
            const Lanes lanes = Lanes::load(x + i);
            largest = larger(bits_as<float>(bits_as<std::int32_t>(lanes) & 0x7fffffff), largest);
            finite = fma(lanes, Lanes(0.0F), finite);  // 0, or NaN if a number is not finite
        }
        const float top = largest_of(largest);
        const bool usable = sum(finite) == 0.0F;
        const float inverse = usable && top > 1e-30F ? 127 / top : 0;  // 127 / top must be finite
        std::int32_t half_sum[2] = {};
        for (int i = 0; i < quantized_columns; i += lane_count) {
            constexpr float round = 0x1.8p23F;  // adding and subtracting it rounds to an integer
            Lanes scaled = {};
            if (usable) scaled = fma(Lanes::load(x + i), Lanes(inverse), Lanes(round)) - round;
            const IntLanes q = converted<std::int32_t>(scaled);
            typedef std::int8_t Small __attribute__((vector_size(lane_count)));
            const Small small = __builtin_convertvector(q.v, Small);
            __builtin_memcpy(to->q + i, &small, sizeof small);
            half_sum[i / 16] += integer_sum(q);
        }
        const std::int32_t all = half_sum[0] + half_sum[1];
        to->scale = usable ? (inverse > 0 ? top / 127 : 0) : __builtin_nanf("");
        to->sum = to->scale * static_cast<float>(all);
        to->minus_128_sums = -128 * all;
        to->minus_8_sums = -8 * all;
        for (int h = 0; h < 2; ++h) {
            to->minus_32_sums[h] = -32 * half_sum[h];
            to->half_sums[h] = to->scale * static_cast<float>(half_sum[h]);
        }
    }
}

}  // namespace
}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
