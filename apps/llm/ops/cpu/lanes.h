// SIMD registers of fp32 lanes. Each instruction set compiles this header with its own VOLTPILE_TARGET and
// VOLTPILE_LANE_BYTES. Everything is inline, in a namespace named after the target: otherwise the linker
// could keep an AVX-512 copy of a function for the whole program.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstdint>

#include "base/half.h"

#define VOLTPILE_INLINE inline __attribute__((always_inline))

namespace voltpile::llm {
inline namespace VOLTPILE_TARGET {

typedef float Lanes __attribute__((vector_size(VOLTPILE_LANE_BYTES)));
typedef std::int32_t IntLanes __attribute__((vector_size(VOLTPILE_LANE_BYTES)));
constexpr int lane_count = VOLTPILE_LANE_BYTES / 4;

VOLTPILE_INLINE Lanes load(const float* from) {
    Lanes lanes;
    __builtin_memcpy(&lanes, from, sizeof lanes);
    return lanes;
}
VOLTPILE_INLINE void store(float* to, Lanes lanes) {
    __builtin_memcpy(to, &lanes, sizeof lanes);
}
VOLTPILE_INLINE Lanes all(float value) {
    return Lanes{} + value;
}

#if defined(__AVX512F__)
VOLTPILE_INLINE Lanes fma(Lanes a, Lanes b, Lanes c) {
    return _mm512_fmadd_ps(a, b, c);
}
VOLTPILE_INLINE IntLanes load_bytes(const std::uint8_t* from) {
    return (IntLanes)_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
VOLTPILE_INLINE IntLanes load_signed_bytes(const std::uint8_t* from) {
    return (IntLanes)_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
VOLTPILE_INLINE IntLanes load_shorts(const std::uint8_t* from) {
    return (IntLanes)_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
VOLTPILE_INLINE Lanes load_halves(const void* from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(from)));
}
VOLTPILE_INLINE void store_halves(std::uint16_t* to, Lanes lanes) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_cvtps_ph(lanes, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#elif defined(__AVX2__)
VOLTPILE_INLINE Lanes fma(Lanes a, Lanes b, Lanes c) {
    return _mm256_fmadd_ps(a, b, c);
}
VOLTPILE_INLINE IntLanes load_bytes(const std::uint8_t* from) {
    return (IntLanes)_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
}
VOLTPILE_INLINE IntLanes load_signed_bytes(const std::uint8_t* from) {
    return (IntLanes)_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
}
VOLTPILE_INLINE IntLanes load_shorts(const std::uint8_t* from) {
    return (IntLanes)_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
VOLTPILE_INLINE Lanes load_halves(const void* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(from)));
}
VOLTPILE_INLINE void store_halves(std::uint16_t* to, Lanes lanes) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm256_cvtps_ph(lanes, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#else
// The baseline has no fused operation: its sums differ from the others' in the last bits.
VOLTPILE_INLINE Lanes fma(Lanes a, Lanes b, Lanes c) {
    return a * b + c;
}
VOLTPILE_INLINE IntLanes load_bytes(const std::uint8_t* from) {
    IntLanes lanes;
    for (int i = 0; i < lane_count; ++i) lanes[i] = from[i];
    return lanes;
}
VOLTPILE_INLINE IntLanes load_signed_bytes(const std::uint8_t* from) {
    return (load_bytes(from) ^ 128) - 128;
}
VOLTPILE_INLINE IntLanes load_shorts(const std::uint8_t* from) {
    std::uint16_t shorts[lane_count];
    __builtin_memcpy(shorts, from, sizeof shorts);
    IntLanes lanes;
    for (int i = 0; i < lane_count; ++i) lanes[i] = shorts[i];
    return lanes;
}
VOLTPILE_INLINE Lanes load_halves(const void* from) {
    std::uint16_t halves[lane_count];
    __builtin_memcpy(halves, from, sizeof halves);
    Lanes lanes;
    for (int i = 0; i < lane_count; ++i) lanes[i] = float_from_half(halves[i]);
    return lanes;
}
VOLTPILE_INLINE void store_halves(std::uint16_t* to, Lanes lanes) {
    for (int i = 0; i < lane_count; ++i) to[i] = half_from_float(lanes[i]);
}
#endif

VOLTPILE_INLINE float half_at(const std::uint8_t* from) {
    std::uint16_t half;
    __builtin_memcpy(&half, from, sizeof half);
#if defined(__F16C__)
    return _cvtsh_ss(half);
#else
    return float_from_half(half);
#endif
}

VOLTPILE_INLINE Lanes to_float(IntLanes lanes) {
    return __builtin_convertvector(lanes, Lanes);
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
    return sum_of_8(_mm256_add_ps(_mm512_castps512_ps256(lanes), _mm512_extractf32x8_ps(lanes, 1)));
#elif defined(__AVX2__)
    return sum_of_8(lanes);
#else
    float part[lane_count];
    store(part, lanes);
    for (int half = lane_count / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; ++i) part[i] += part[i + half];
    }
    return part[0];
#endif
}

VOLTPILE_INLINE Lanes larger(Lanes a, Lanes b) {
    return a > b ? a : b;
}

// Returns exp(x) within 2 units in the last place for -87 < x < 88; x is clamped to these bounds. Computes
// e^x = 2^n e^r with |r| <= ln(2)/2, and the Taylor series of e^r, whose first omitted term is below 6e-9.
VOLTPILE_INLINE Lanes exponential(Lanes x) {
    x = x < all(-87.0F) ? all(-87.0F) : x;
    x = x > all(88.0F) ? all(88.0F) : x;
    constexpr float round = 0x1.8p23F;  // adding and subtracting it rounds to an integer
    const Lanes n = fma(x, all(0x1.715476p+0F), all(round)) - round;
    // ln(2) as a sum of two numbers; the first has few bits, so that its product with n is exact.
    const Lanes r = fma(n, all(-0x1.7f7d1cp-20F), fma(n, all(-0x1.62e4p-1F), x));
    Lanes series = all(1.0F / 5040);
    series = fma(series, r, all(1.0F / 720));
    series = fma(series, r, all(1.0F / 120));
    series = fma(series, r, all(1.0F / 24));
    series = fma(series, r, all(1.0F / 6));
    series = fma(series, r, all(0.5F));
    series = fma(series, r, all(1.0F));
    series = fma(series, r, all(1.0F));
    const IntLanes exponent = (__builtin_convertvector(n, IntLanes) + 127) << 23;
    return series * (Lanes)exponent;
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
