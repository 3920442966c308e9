// SIMD registers of fp32 lanes: loads that widen stored weights and cache entries, sums, exponentials.
#pragma once

#include <cstdint>

#include "base/half.h"
#include "base/simd.h"

namespace voltpile::llm {
inline namespace VOLTPILE_TARGET {

using Lanes = Simd<float>;
using IntLanes = Simd<std::int32_t>;
constexpr int lane_count = Lanes::lanes;

// The bits of half precision numbers, one in each lane. Shifted to where fp32 has its fraction and times
// 2^112, the difference of the exponents' biases, they are the number itself, subnormal or not; infinities
// and NaN get the largest exponent besides.
VOLTPILE_INLINE Lanes float_from_half_bits(IntLanes bits) {
    const IntLanes magnitude = bits & 0x7fff;
    const Lanes finite = bits_as<float>(magnitude << 13) * 0x1p112F;
    const IntLanes not_finite = (IntLanes::Numbers)(magnitude.v > 0x7bff) & 0x7f800000;
    return bits_as<float>(bits_as<std::int32_t>(finite) | not_finite | (bits & 0x8000) << 16);
}

#if defined(__AVX512F__)
VOLTPILE_INLINE IntLanes load_bytes(const std::uint8_t* from) {
    return (IntLanes::Numbers)_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
VOLTPILE_INLINE IntLanes load_signed_bytes(const std::uint8_t* from) {
    return (IntLanes::Numbers)_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
VOLTPILE_INLINE IntLanes load_shorts(const std::uint8_t* from) {
    return (IntLanes::Numbers)_mm512_cvtepu16_epi32(
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
VOLTPILE_INLINE Lanes load_halves(const void* from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(from)));
}
VOLTPILE_INLINE void store_halves(std::uint16_t* to, Lanes lanes) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_cvtps_ph(lanes.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
// Floats of 8 bits (model/float8.h), divided by 256.
VOLTPILE_INLINE Lanes load_float8(const std::uint8_t* from) {
    const __m256i bytes = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    const __m256i halves =
        _mm256_and_si256(_mm256_slli_epi16(bytes, 7), _mm256_set1_epi16(static_cast<std::int16_t>(0xbf80)));
    return _mm512_cvtph_ps(halves);
}
#elif defined(__AVX2__)
VOLTPILE_INLINE IntLanes load_bytes(const std::uint8_t* from) {
    return (IntLanes::Numbers)_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
}
VOLTPILE_INLINE IntLanes load_signed_bytes(const std::uint8_t* from) {
    return (IntLanes::Numbers)_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
}
VOLTPILE_INLINE IntLanes load_shorts(const std::uint8_t* from) {
    return (IntLanes::Numbers)_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
VOLTPILE_INLINE Lanes load_halves(const void* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(from)));
}
VOLTPILE_INLINE void store_halves(std::uint16_t* to, Lanes lanes) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm256_cvtps_ph(lanes.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
VOLTPILE_INLINE Lanes load_float8(const std::uint8_t* from) {
    const __m128i bytes = _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
    const __m128i halves =
        _mm_and_si128(_mm_slli_epi16(bytes, 7), _mm_set1_epi16(static_cast<std::int16_t>(0xbf80)));
    return _mm256_cvtph_ps(halves);
}
#else
// Consecutive integers, each widened to a lane.
template <class Integer>
VOLTPILE_INLINE IntLanes widened(const std::uint8_t* from) {
    typedef Integer Narrow __attribute__((vector_size(lane_count * sizeof(Integer))));
    Narrow narrow;
    __builtin_memcpy(&narrow, from, sizeof narrow);
    return __builtin_convertvector(narrow, IntLanes::Numbers);
}
VOLTPILE_INLINE IntLanes load_bytes(const std::uint8_t* from) {
    return widened<std::uint8_t>(from);
}
VOLTPILE_INLINE IntLanes load_signed_bytes(const std::uint8_t* from) {
    return widened<std::int8_t>(from);
}
VOLTPILE_INLINE IntLanes load_shorts(const std::uint8_t* from) {
    return widened<std::uint16_t>(from);
}
VOLTPILE_INLINE Lanes load_halves(const void* from) {
    return float_from_half_bits(load_shorts(static_cast<const std::uint8_t*>(from)));
}
VOLTPILE_INLINE Lanes load_float8(const std::uint8_t* from) {
    const IntLanes bytes = load_bytes(from);
    return float_from_half_bits((bytes & 0x80) << 8 | (bytes & 0x7f) << 7);
}
VOLTPILE_INLINE void store_halves(std::uint16_t* to, Lanes lanes) {
    for (int i = 0; i < lane_count; ++i) to[i] = half_from_float(lanes.lane(i));
}
#endif

// Nibbles `from` to `from` + lane_count - 1 of a block of 32: the low nibbles of 16 bytes, then the high
// ones.
VOLTPILE_INLINE IntLanes load_nibbles(const std::uint8_t* packed, int from) {
    const IntLanes bytes = load_bytes(packed + from % 16);
    return from < 16 ? bytes & 15 : bytes >> 4;
}

VOLTPILE_INLINE float half_at(const std::uint8_t* from) {
    std::uint16_t half;
    __builtin_memcpy(&half, from, sizeof half);
#if defined(__F16C__)
    return _cvtsh_ss(half);
#else
    return float_from_half_bits(IntLanes(half)).lane(0);
#endif
}

VOLTPILE_INLINE Lanes to_float(IntLanes lanes) {
    return converted<float>(lanes);
}

// Sums the lanes pairwise: lane i with lane i + n/2, then the same with half as many lanes.
#if defined(__AVX2__)
VOLTPILE_INLINE float sum_of_8(__m256 lanes) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
#endif
VOLTPILE_INLINE float sum(Lanes lanes) {
#if defined(__AVX512F__)
    return sum_of_8(_mm256_add_ps(_mm512_castps512_ps256(lanes.v), _mm512_extractf32x8_ps(lanes.v, 1)));
#elif defined(__AVX2__)
    return sum_of_8(lanes.v);
#else
    float part[lane_count];
    lanes.store(part);
    for (int half = lane_count / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; ++i) part[i] += part[i + half];
    }
    return part[0];
#endif
}

// Returns exp(x) within 2 units in the last place for -87 < x < 88; x is clamped to these bounds. Computes
// e^x = 2^n e^r with |r| <= ln(2)/2, and the Taylor series of e^r, whose first omitted term is below 6e-9.
VOLTPILE_INLINE Lanes exponential(Lanes x) {
    x = smaller(Lanes(88.0F), larger(Lanes(-87.0F), x));  // in this order: NaN stays NaN
    constexpr float round = 0x1.8p23F;                    // adding and subtracting it rounds to an integer
    const Lanes n = fma(x, Lanes(0x1.715476p+0F), Lanes(round)) - round;
    // ln(2) as a sum of two numbers; the first has few bits, so that its product with n is exact.
    const Lanes r = fma(n, Lanes(-0x1.7f7d1cp-20F), fma(n, Lanes(-0x1.62e4p-1F), x));
    Lanes series(1.0F / 5040);
    series = fma(series, r, Lanes(1.0F / 720));
    series = fma(series, r, Lanes(1.0F / 120));
    series = fma(series, r, Lanes(1.0F / 24));
    series = fma(series, r, Lanes(1.0F / 6));
    series = fma(series, r, Lanes(0.5F));
    series = fma(series, r, Lanes(1.0F));
    series = fma(series, r, Lanes(1.0F));
    const IntLanes exponent = (converted<std::int32_t>(n) + 127) << 23;
    return series * bits_as<float>(exponent);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
