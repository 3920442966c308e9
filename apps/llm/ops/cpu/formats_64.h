// Steps (formats.h) of the formats with blocks of 64 weights: codes that are looked up in a table of fp32
// numbers, and floats of 8 bits.
#pragma once

#include "llm/model/code_levels.h"
#include "llm/ops/cpu/formats.h"

namespace voltpile::llm {
inline namespace VOLTPILE_TARGET {

// Lane i gets the level of the low 4 bits of lane i.
VOLTPILE_INLINE Lanes levels_of(const CodeLevels& levels, IntLanes codes) {
#if defined(__AVX512F__)
    return _mm512_permutexvar_ps((__m512i)codes.v, _mm512_load_ps(levels.of_code));
#elif defined(__AVX2__)
    const __m256i code = (__m256i)codes.v;
    const __m256 low = _mm256_permutevar8x32_ps(_mm256_load_ps(levels.of_code), code);
    const __m256 high = _mm256_permutevar8x32_ps(_mm256_load_ps(levels.of_code + 8), code);
    // Bit 3 of a code becomes the sign, which chooses.
    return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(code, 28)));
#else
    Lanes lanes(0);
    for (int i = 0; i < lane_count; ++i) lanes.v[i] = levels.of_code[codes.v[i] & 15];
    return lanes;
#endif
}

VOLTPILE_INLINE float float_at(Bytes from) {
    float number;
    __builtin_memcpy(&number, from, sizeof number);
    return number;
}

struct LevelStep {
    static constexpr int parts = 2, bytes = 36;
    Bytes block;
    Lanes d;
    VOLTPILE_INLINE explicit LevelStep(Bytes at) : block(at), d(float_at(at)) {}
    VOLTPILE_INLINE Lanes load(const CodeLevels& levels, int part, int v) const {
        const int from = v * lane_count;
        const IntLanes packed = load_bytes(block + 4 + 16 * part + from % 16);
        return levels_of(levels, from < 16 ? packed : packed >> 4) * d;
    }
};

template <>
struct Step<WeightFormat::NF4> : LevelStep {
    VOLTPILE_INLINE explicit Step(Bytes at) : LevelStep(at) {}
    VOLTPILE_INLINE Lanes load(int part, int v) const { return LevelStep::load(nf4_levels, part, v); }
};

template <>
struct Step<WeightFormat::FP4> : LevelStep {
    VOLTPILE_INLINE explicit Step(Bytes at) : LevelStep(at) {}
    VOLTPILE_INLINE Lanes load(int part, int v) const { return LevelStep::load(fp4_levels, part, v); }
};

template <>
struct Step<WeightFormat::F8_E4M3> {
    static constexpr int parts = 2, bytes = 68;
    Bytes block;
    Lanes d;
    VOLTPILE_INLINE explicit Step(Bytes at) : block(at), d(256 * float_at(at)) {}
    VOLTPILE_INLINE Lanes load(int part, int v) const {
        return load_float8(block + 4 + 32 * part + v * lane_count) * d;
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
