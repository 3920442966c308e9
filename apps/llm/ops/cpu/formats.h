// Loads weights from their blocks into registers, bit-identical to dequantize.h. A Step of a format begins at
// a block; load() returns the lanes v * lane_count to (v + 1) * lane_count - 1 of part `part`, which has 32
// columns.
//
// Q4_K and Q5_K use a fused multiply-add. Their product has at most 11 + 6 + 5 bits and is exact in fp32, so
// fusing does not change the result.
#pragma once

#include "llm/model/weight_format.h"
#include "llm/ops/cpu/lanes.h"

namespace voltpile::llm {
inline namespace VOLTPILE_TARGET {

constexpr int step_columns = 32;
constexpr int step_lanes = step_columns / lane_count;

using Bytes = const std::uint8_t*;

template <WeightFormat format>
struct Step;

template <>
struct Step<WeightFormat::F32> {
    static constexpr int parts = 1, bytes = 128;
    Bytes block;
    VOLTPILE_INLINE explicit Step(Bytes at) : block(at) {}
    VOLTPILE_INLINE Lanes load(int, int v) const {
        Lanes lanes;
        __builtin_memcpy(&lanes.v, block + v * simd_bytes, sizeof lanes.v);
        return lanes;
    }
};

template <>
struct Step<WeightFormat::F16> {
    static constexpr int parts = 1, bytes = 64;
    Bytes block;
    VOLTPILE_INLINE explicit Step(Bytes at) : block(at) {}
    VOLTPILE_INLINE Lanes load(int, int v) const { return load_halves(block + v * lane_count * 2); }
};

template <>
struct Step<WeightFormat::BF16> {
    static constexpr int parts = 1, bytes = 64;
    Bytes block;
    VOLTPILE_INLINE explicit Step(Bytes at) : block(at) {}
    VOLTPILE_INLINE Lanes load(int, int v) const {
        return bits_as<float>(load_shorts(block + v * lane_count * 2) << 16);
    }
};

template <>
struct Step<WeightFormat::Q8_0> {
    static constexpr int parts = 1, bytes = 34;
    Bytes block;
    Lanes d;
    VOLTPILE_INLINE explicit Step(Bytes at) : block(at), d(half_at(at)) {}
    VOLTPILE_INLINE Lanes load(int, int v) const {
        return to_float(load_signed_bytes(block + 2 + v * lane_count)) * d;
    }
};

template <>
struct Step<WeightFormat::Q4_0> {
    static constexpr int parts = 1, bytes = 18;
    Bytes block;
    Lanes d;
    VOLTPILE_INLINE explicit Step(Bytes at) : block(at), d(half_at(at)) {}
    VOLTPILE_INLINE Lanes load(int, int v) const {
        const int from = v * lane_count;
        const IntLanes packed = load_bytes(block + 2 + from % 16);
        return to_float((from < 16 ? packed & 15 : packed >> 4) - 8) * d;
    }
};

// The scales and minima of the 8 parts of a Q4_K or Q5_K block, as fp32.
struct PartScales {
    float scale[8], min[8];
    VOLTPILE_INLINE explicit PartScales(Bytes block) {
        std::uint32_t a, b, c;
        __builtin_memcpy(&a, block + 4, 4);
        __builtin_memcpy(&b, block + 8, 4);
        __builtin_memcpy(&c, block + 12, 4);
        const std::uint32_t scales[2] = {a & 0x3f3f3f3f, (c & 0x0f0f0f0f) | (a >> 2 & 0x30303030)};
        const std::uint32_t mins[2] = {b & 0x3f3f3f3f, (c >> 4 & 0x0f0f0f0f) | (b >> 2 & 0x30303030)};
        const float d = half_at(block);
        const float dmin = half_at(block + 2);
        Bytes scale_bytes = reinterpret_cast<Bytes>(scales);
        Bytes min_bytes = reinterpret_cast<Bytes>(mins);
        constexpr int width = lane_count < 8 ? lane_count : 8;
        typedef std::int32_t Ints __attribute__((vector_size(4 * width)));
        typedef float Floats __attribute__((vector_size(4 * width)));
        typedef std::uint8_t Small __attribute__((vector_size(width)));
        for (int i = 0; i < 8; i += width) {
            Small s, m;
            __builtin_memcpy(&s, scale_bytes + i, sizeof s);
            __builtin_memcpy(&m, min_bytes + i, sizeof m);
            const Floats fs = __builtin_convertvector(__builtin_convertvector(s, Ints), Floats) * d;
            const Floats fm = __builtin_convertvector(__builtin_convertvector(m, Ints), Floats) * -dmin;
            __builtin_memcpy(scale + i, &fs, sizeof fs);
            __builtin_memcpy(min + i, &fm, sizeof fm);
        }
    }
};

template <>
struct Step<WeightFormat::Q4_K> {
    static constexpr int parts = 8, bytes = 144;
    Bytes block;
    PartScales scales;
    VOLTPILE_INLINE explicit Step(Bytes at) : block(at), scales(at) {}
    VOLTPILE_INLINE Lanes load(int part, int v) const {
        const IntLanes packed = load_bytes(block + 16 + 32 * (part / 2) + v * lane_count);
        const IntLanes q = part % 2 == 0 ? packed & 15 : packed >> 4;
        return fma(to_float(q), Lanes(scales.scale[part]), Lanes(scales.min[part]));
    }
};

template <>
struct Step<WeightFormat::Q5_K> {
    static constexpr int parts = 8, bytes = 176;
    Bytes block;
    PartScales scales;
    VOLTPILE_INLINE explicit Step(Bytes at) : block(at), scales(at) {}
    VOLTPILE_INLINE Lanes load(int part, int v) const {
        const IntLanes packed = load_bytes(block + 48 + 32 * (part / 2) + v * lane_count);
        const IntLanes high = load_bytes(block + 16 + v * lane_count);
        const IntLanes q = (part % 2 == 0 ? packed & 15 : packed >> 4) | (high >> part & 1) << 4;
        return fma(to_float(q), Lanes(scales.scale[part]), Lanes(scales.min[part]));
    }
};

template <>
struct Step<WeightFormat::Q6_K> {
    static constexpr int parts = 8, bytes = 210;
    Bytes block;
    float scale[16];
    VOLTPILE_INLINE explicit Step(Bytes at) : block(at) {
        const float d = half_at(at + 208);
        for (int i = 0; i < 16; i += lane_count)
            (to_float(load_signed_bytes(at + 192 + i)) * d).store(scale + i);
    }
    VOLTPILE_INLINE Lanes load(int part, int v) const {
        const int half = part / 4, j = part % 4, from = v * lane_count;
        const IntLanes low = load_bytes(block + 64 * half + 32 * (j % 2) + from);
        const IntLanes high = load_bytes(block + 128 + 32 * half + from);
        const IntLanes q = (j < 2 ? low & 15 : low >> 4) | (high >> 2 * j & 3) << 4;
        return to_float(q - 32) * scale[8 * half + 2 * j + from / 16];
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
