// Steps (formats.h) of the formats with blocks of 256 weights that files have beside Q4_K, Q5_K and Q6_K.
#pragma once

#include "llm/ops/codebooks/codebook_block.h"
#include "llm/ops/cpu/formats_32.h"

namespace voltpile::llm {
inline namespace VOLTPILE_TARGET {

// Q2_K and Q3_K pack weight i of quarter j of a half into bits 2j and 2j + 1 of byte i of the half's 32
// bytes.
VOLTPILE_INLINE IntLanes load_bit_pairs(Bytes packed, int part, int from) {
    return load_bytes(packed + 32 * (part / 4) + from) >> 2 * (part % 4) & 3;
}

template <>
struct Step<WeightFormat::Q2_K> {
    static constexpr int parts = 8, bytes = 84;
    Bytes block;
    float scale[16], min[16];
    VOLTPILE_INLINE explicit Step(Bytes at) : block(at) {
        const float d = half_at(at + 80);
        const float dmin = half_at(at + 82);
        for (int i = 0; i < 16; i += lane_count) {
            const IntLanes both = load_bytes(at + i);
            (to_float(both & 15) * d).store(scale + i);
            (to_float(both >> 4) * -dmin).store(min + i);
        }
    }
    VOLTPILE_INLINE Lanes load(int part, int v) const {
        const int from = v * lane_count, sixteen = 2 * part + from / 16;
        const IntLanes q = load_bit_pairs(block + 16, part, from);
        return fma(to_float(q), Lanes(scale[sixteen]), Lanes(min[sixteen]));
    }
};

template <>
struct Step<WeightFormat::Q3_K> {
    static constexpr int parts = 8, bytes = 110;
    Bytes block;
    float scale[16];
    VOLTPILE_INLINE explicit Step(Bytes at) : block(at) {
        const float d = half_at(at + 108);
        Bytes packed = at + 96;
        for (int i = 0; i < 16; ++i) {
            const int low = i < 8 ? packed[i] & 15 : packed[i - 8] >> 4;
            const int high = packed[8 + i % 4] >> 2 * (i / 4) & 3;
            scale[i] = d * static_cast<float>((low | high << 4) - 32);
        }
    }
    VOLTPILE_INLINE Lanes load(int part, int v) const {
        const int from = v * lane_count;
        const IntLanes third = (load_bytes(block + from) >> part & 1) << 2;
        const IntLanes q = load_bit_pairs(block + 32, part, from) + third - 4;
        return to_float(q) * scale[2 * part + from / 16];
    }
};

template <>
struct Step<WeightFormat::IQ4_XS> {
    static constexpr int parts = 8, bytes = 136;
    Bytes block;
    float scale[8];
    VOLTPILE_INLINE explicit Step(Bytes at) : block(at) {
        const float d = half_at(at);
        const int high = at[2] | at[3] << 8;
        for (int i = 0; i < 8; ++i) {
            const int low = at[4 + i / 2] >> 4 * (i % 2) & 15;
            scale[i] = d * static_cast<float>((low | (high >> 2 * i & 3) << 4) - 32);
        }
    }
    VOLTPILE_INLINE Lanes load(int part, int v) const {
        const int from = v * lane_count;
        Bytes packed = block + 8 + 16 * part + from % 16;
        return to_float(load_nibble_values(iq4_values, packed, from >= 16)) * scale[part];
    }
};

// Codebook formats are unpacked block by block, and expanded from there.
template <WeightFormat format, int block_bytes>
struct CodebookStep {
    static constexpr int parts = 8, bytes = block_bytes;
    CodebookBlock unpacked;
    VOLTPILE_INLINE explicit CodebookStep(Bytes at) { unpack_codebook<format>(at, unpacked); }
    VOLTPILE_INLINE Lanes load(int part, int v) const {
        const int from = v * lane_count;
        const auto* integers = reinterpret_cast<Bytes>(unpacked.integer) + 32 * part + from;
        return to_float(load_signed_bytes(integers)) * unpacked.scale[2 * part + from / 16];
    }
};
#define VOLTPILE_CODEBOOK_STEP(format)                                                       \
    template <>                                                                              \
    struct Step<format> : CodebookStep<format, static_cast<int>(info(format).block_bytes)> { \
        using CodebookStep::CodebookStep;                                                    \
    }
VOLTPILE_CODEBOOK_STEP(WeightFormat::IQ1_S);
VOLTPILE_CODEBOOK_STEP(WeightFormat::IQ1_M);
VOLTPILE_CODEBOOK_STEP(WeightFormat::IQ2_XXS);
VOLTPILE_CODEBOOK_STEP(WeightFormat::IQ2_XS);
VOLTPILE_CODEBOOK_STEP(WeightFormat::IQ2_S);
VOLTPILE_CODEBOOK_STEP(WeightFormat::IQ3_XXS);
VOLTPILE_CODEBOOK_STEP(WeightFormat::IQ3_S);
#undef VOLTPILE_CODEBOOK_STEP

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
