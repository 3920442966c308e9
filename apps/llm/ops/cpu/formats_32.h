// Steps (formats.h) of the formats with blocks of 32 weights that files have beside Q8_0 and Q4_0.
#pragma once

#include "llm/ops/codebooks/iq4_values.h"
#include "llm/ops/cpu/formats.h"

namespace voltpile::llm {
inline namespace VOLTPILE_TARGET {

// Twice the values of 4-bit floats with 2 exponent bits and 1 fraction bit, one for each nibble.
alignas(16) constexpr std::int8_t fp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Lane i gets the table's value for a nibble of byte i: the low one, or the high one.
VOLTPILE_INLINE IntLanes load_nibble_values(const std::int8_t (&table)[16], Bytes from, bool high) {
#if defined(__AVX2__)
    const __m128i values = _mm_load_si128(reinterpret_cast<const __m128i*>(table));
#if defined(__AVX512F__)
    __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
#else
    __m128i packed = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
#endif
    if (high) packed = _mm_srli_epi16(packed, 4);
    const __m128i found = _mm_shuffle_epi8(values, _mm_and_si128(packed, _mm_set1_epi8(15)));
#if defined(__AVX512F__)
    return (IntLanes::Numbers)_mm512_cvtepi8_epi32(found);
#else
    return (IntLanes::Numbers)_mm256_cvtepi8_epi32(found);
#endif
#else
    IntLanes lanes(0);
    for (int i = 0; i < lane_count; ++i) lanes.v[i] = table[high ? from[i] >> 4 : from[i] & 15];
    return lanes;
#endif
}

// Bits `from` to `from` + lane_count - 1 of a word, each as 16 or 0.
VOLTPILE_INLINE IntLanes fifth_bits(std::uint32_t word, int from) {
    IntLanes lane(0);
    for (int i = 0; i < lane_count; ++i) lane.v[i] = i;
    const IntLanes bits = IntLanes(static_cast<std::int32_t>(word >> from));
    return (IntLanes(bits.v >> lane.v) & 1) << 4;
}

VOLTPILE_INLINE std::uint32_t word_at(Bytes from) {
    std::uint32_t word;
    __builtin_memcpy(&word, from, sizeof word);
    return word;
}

template <>
struct Step<WeightFormat::Q4_1> {
    static constexpr int parts = 1, bytes = 20;
    Bytes block;
    Lanes d, m;
    VOLTPILE_INLINE explicit Step(Bytes at) : block(at), d(half_at(at)), m(half_at(at + 2)) {}
    VOLTPILE_INLINE Lanes load(int, int v) const {
        return fma(to_float(load_nibbles(block + 4, v * lane_count)), d, m);
    }
};

template <>
struct Step<WeightFormat::UINT4> {
    static constexpr int parts = 1, bytes = 20;
    Bytes block;
    Lanes d, z;
    VOLTPILE_INLINE explicit Step(Bytes at) : block(at), d(half_at(at)), z(half_at(at + 2)) {}
    VOLTPILE_INLINE Lanes load(int, int v) const {
        return (to_float(load_nibbles(block + 4, v * lane_count)) - z) * d;
    }
};

template <>
struct Step<WeightFormat::Q5_0> {
    static constexpr int parts = 1, bytes = 22;
    Bytes block;
    Lanes d;
    std::uint32_t high;
    VOLTPILE_INLINE explicit Step(Bytes at) : block(at), d(half_at(at)), high(word_at(at + 2)) {}
    VOLTPILE_INLINE Lanes load(int, int v) const {
        const int from = v * lane_count;
        return to_float((load_nibbles(block + 6, from) | fifth_bits(high, from)) - 16) * d;
    }
};

template <>
struct Step<WeightFormat::Q5_1> {
    static constexpr int parts = 1, bytes = 24;
    Bytes block;
    Lanes d, m;
    std::uint32_t high;
    VOLTPILE_INLINE explicit Step(Bytes at)
        : block(at), d(half_at(at)), m(half_at(at + 2)), high(word_at(at + 4)) {}
    VOLTPILE_INLINE Lanes load(int, int v) const {
        const int from = v * lane_count;
        return fma(to_float(load_nibbles(block + 8, from) | fifth_bits(high, from)), d, m);
    }
};

template <>
struct Step<WeightFormat::IQ4_NL> {
    static constexpr int parts = 1, bytes = 18;
    Bytes block;
    Lanes d;
    VOLTPILE_INLINE explicit Step(Bytes at) : block(at), d(half_at(at)) {}
    VOLTPILE_INLINE Lanes load(int, int v) const {
        const int from = v * lane_count;
        return to_float(load_nibble_values(iq4_values, block + 2 + from % 16, from >= 16)) * d;
    }
};

// Returns half of 2^(e - 127), because tables of MXFP4 have twice the values; below 2^-126 it is subnormal.
VOLTPILE_INLINE float fp4_scale(std::uint32_t e) {
    return __builtin_bit_cast(float, e < 2 ? 0x00200000U << e : (e - 1) << 23);
}

template <>
struct Step<WeightFormat::MXFP4> {
    static constexpr int parts = 1, bytes = 17;
    Bytes block;
    Lanes d;
    VOLTPILE_INLINE explicit Step(Bytes at) : block(at), d(fp4_scale(at[0])) {}
    VOLTPILE_INLINE Lanes load(int, int v) const {
        const int from = v * lane_count;
        return to_float(load_nibble_values(fp4_values, block + 1 + from % 16, from >= 16)) * d;
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
