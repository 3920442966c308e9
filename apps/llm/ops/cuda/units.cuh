// Reads units of weights (matrix.h), for each format.
#pragma once

#include "llm/ops/cuda/matrix.h"
#include "llm/ops/cuda/unit_words.cuh"

namespace voltpile::llm {

// Units of 4 rows at once, for matrix-vector products. A lane's unit has `slices` slices of 16 weights.
//   quants(raw, j, n, i): word i of row j, slice n: 4 quants as int8
//   scale(raw, j, n), offset(raw, j, n): weight = scale * quant - offset
template <WeightFormat>
struct Units;

template <>
struct Units<WeightFormat::Q8_0> {
    static constexpr int slices = 1;
    static constexpr bool has_offset = false;
    struct Raw {
        uint4 quants[4];
        uint2 scales;
    };
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        const std::uint8_t* from = w.quants + static_cast<std::int64_t>(group) * 4 * w.columns + unit * 16;
#pragma unroll
        for (int j = 0; j < 4; ++j) raw.quants[j] = stream16(from + static_cast<std::int64_t>(j) * w.columns);
        raw.scales = stream8(w.scales + (static_cast<std::int64_t>(group) * (w.columns / 32) + unit / 2) * 8);
        return raw;
    }
    __device__ static int quants(const Raw& raw, int j, int, int i) {
        return static_cast<int>(word(raw.quants[j], i));
    }
    __device__ static float scale(const Raw& raw, int j, int) {
        return half_in(raw.scales, j);
    }
    __device__ static float offset(const Raw&, int, int) {
        return 0;
    }
};

struct UnitIndex {
    static constexpr int slices = 2;
    __device__ static std::int64_t unit_index(const DeviceMatrix& w, int group, int unit) {
        return static_cast<std::int64_t>(group) * (w.columns / 32) + unit;
    }
    __device__ static std::int64_t super_index(const DeviceMatrix& w, int group, int unit) {
        return static_cast<std::int64_t>(group) * (w.columns / 256) + unit / 8;
    }
};

// The common part of the formats that store their low 4 bits as nibbles.
struct NibbleUnits : UnitIndex {
    static constexpr bool has_offset = true;
    __device__ static void load_quants(uint4 (&quants)[4], const DeviceMatrix& w, int group, int unit) {
        const int row_bytes = w.columns / 2;
        const std::uint8_t* from = w.quants + static_cast<std::int64_t>(group) * 4 * row_bytes + unit * 16;
#pragma unroll
        for (int j = 0; j < 4; ++j) quants[j] = stream16(from + static_cast<std::int64_t>(j) * row_bytes);
    }
};

// The common part of the formats that store their low 2 bits in pairs of words.
struct PairUnits : UnitIndex {
    static constexpr bool has_offset = true;
    __device__ static void load_quants(uint4 (&quants)[2], const DeviceMatrix& w, int group, int unit) {
        const std::uint8_t* from = w.quants + unit_index(w, group, unit) * 32;
        quants[0] = stream16(from);
        quants[1] = stream16(from + 16);
    }
    template <class R>
    __device__ static std::uint32_t pairs(const R& raw, int j, int n, int i) {
        return two_low_bits(word(raw.quants[j / 2], j % 2 * 2 + i / 2), n, i);
    }
};

// The common part of the formats with nibbles and an fp16 scale of 32 weights.
struct HalfScaleUnits : NibbleUnits {
    struct Raw {
        uint4 quants[4];
        uint2 scales;
    };
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        load_quants(raw.quants, w, group, unit);
        raw.scales = stream8(w.scales + unit_index(w, group, unit) * 8);
        return raw;
    }
    __device__ static float scale(const Raw& raw, int j, int) { return half_in(raw.scales, j); }
};

template <>
struct Units<WeightFormat::Q4_0> : HalfScaleUnits {
    __device__ static int quants(const Raw& raw, int j, int n, int i) {
        return static_cast<int>(low_bits(raw.quants[j], n, i));
    }
    __device__ static float offset(const Raw& raw, int j, int) { return 8 * half_in(raw.scales, j); }
};

// The common part of formats whose nibbles are codes for a table. Nibbles: NibbleUnits or derived from it.
template <class Nibbles>
struct CodeUnits : Nibbles {
    static constexpr bool has_offset = false;
    template <class R>
    __device__ static float offset(const R&, int, int) {
        return 0;
    }
};

template <>
struct Units<WeightFormat::MXFP4> : CodeUnits<NibbleUnits> {
    struct Raw {
        uint4 quants[4];
        std::uint32_t exponents;
    };
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        load_quants(raw.quants, w, group, unit);
        raw.exponents = stream4(w.scales + unit_index(w, group, unit) * 4);
        return raw;
    }
    __device__ static int quants(const Raw& raw, int j, int n, int i) {
        return static_cast<int>(mxfp4_values(codes_of(raw.quants[j], n, i)));
    }
    __device__ static float scale(const Raw& raw, int j, int) {
        return half_of_exponent(byte_of(raw.exponents, j));
    }
};

template <class Nibbles>
struct Iq4Units : CodeUnits<Nibbles> {
    template <class R>
    __device__ static int quants(const R& raw, int j, int n, int i) {
        return static_cast<int>(iq4_values(codes_of(raw.quants[j], n, i)));
    }
};

template <>
struct Units<WeightFormat::IQ4_NL> : Iq4Units<HalfScaleUnits> {};

template <>
struct Units<WeightFormat::IQ4_XS> : Iq4Units<NibbleUnits> {
    struct Raw {
        uint4 quants[4];
        uint2 super;
        std::uint32_t scales;
    };
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        load_quants(raw.quants, w, group, unit);
        raw.super = stream8(w.super + super_index(w, group, unit) * 8);
        raw.scales = stream4(w.scales + unit_index(w, group, unit) * 4);
        return raw;
    }
    __device__ static float scale(const Raw& raw, int j, int) {
        return half_in(raw.super, j) * signed_byte(raw.scales, j);
    }
};

template <>
struct Units<WeightFormat::Q4_K> : NibbleUnits {
    struct Raw {
        uint4 quants[4];
        uint4 super;
        uint2 scales;
    };
    template <class R>
    __device__ static void load_common(R& raw, const DeviceMatrix& w, int group, int unit) {
        load_quants(raw.quants, w, group, unit);
        raw.super = stream16(w.super + super_index(w, group, unit) * 16);
        raw.scales = stream8(w.scales + unit_index(w, group, unit) * 8);
    }
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        load_common(raw, w, group, unit);
        return raw;
    }
    __device__ static int quants(const Raw& raw, int j, int n, int i) {
        return static_cast<int>(low_bits(raw.quants[j], n, i));
    }
    template <class R>
    __device__ static float scale(const R& raw, int j, int) {
        return floats_of(word(raw.super, j)).x *
               static_cast<float>(byte_of(word(raw.scales, j / 2), j % 2 * 2));
    }
    template <class R>
    __device__ static float offset(const R& raw, int j, int) {
        return floats_of(word(raw.super, j)).y *
               static_cast<float>(byte_of(word(raw.scales, j / 2), j % 2 * 2 + 1));
    }
};

template <>
struct Units<WeightFormat::Q5_K> : Units<WeightFormat::Q4_K> {
    struct Raw {
        uint4 quants[4];
        uint4 super;
        uint4 high;
        uint2 scales;
    };
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        load_common(raw, w, group, unit);
        raw.high = stream16(w.high + unit_index(w, group, unit) * 16);
        return raw;
    }
    __device__ static int quants(const Raw& raw, int j, int n, int i) {
        return static_cast<int>(low_bits(raw.quants[j], n, i) | fifth_bits(word(raw.high, j), n, i));
    }
};

// scales: fp16 scale and minimum.
template <>
struct Units<WeightFormat::Q5_1> : NibbleUnits {
    struct Raw {
        uint4 quants[4];
        uint4 high;
        uint4 scales;
    };
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        load_quants(raw.quants, w, group, unit);
        raw.high = stream16(w.high + unit_index(w, group, unit) * 16);
        raw.scales = stream16(w.scales + unit_index(w, group, unit) * 16);
        return raw;
    }
    __device__ static int quants(const Raw& raw, int j, int n, int i) {
        return static_cast<int>(low_bits(raw.quants[j], n, i) | fifth_bits(word(raw.high, j), n, i));
    }
    __device__ static float scale(const Raw& raw, int j, int) { return floats_of(word(raw.scales, j)).x; }
    __device__ static float offset(const Raw& raw, int j, int) { return -floats_of(word(raw.scales, j)).y; }
};

// Returns d times the int8 scale of half n.
template <class R>
__device__ inline float scale_of_half(const R& raw, int j, int n) {
    return half_in(raw.super, j) * signed_byte(word(raw.scales, j / 2), j % 2 * 2 + n);
}

template <>
struct Units<WeightFormat::Q6_K> : NibbleUnits {
    struct Raw {
        uint4 quants[4];
        uint4 high[2];
        uint2 scales;
        uint2 super;
    };
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        load_quants(raw.quants, w, group, unit);
        const std::int64_t index = unit_index(w, group, unit);
        raw.high[0] = stream16(w.high + index * 32);
        raw.high[1] = stream16(w.high + index * 32 + 16);
        raw.scales = stream8(w.scales + index * 8);
        raw.super = stream8(w.super + super_index(w, group, unit) * 8);
        return raw;
    }
    __device__ static int quants(const Raw& raw, int j, int n, int i) {
        return static_cast<int>(low_bits(raw.quants[j], n, i) |
                                sixth_bits(word(raw.high[j / 2], j % 2 * 2 + i / 2), n, i));
    }
    __device__ static float scale(const Raw& raw, int j, int n) { return scale_of_half(raw, j, n); }
    __device__ static float offset(const Raw& raw, int j, int n) { return 32 * scale(raw, j, n); }
};

template <>
struct Units<WeightFormat::Q3_K> : PairUnits {
    struct Raw {
        uint4 quants[2];
        uint4 high;
        uint2 scales;
        uint2 super;
    };
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        load_quants(raw.quants, w, group, unit);
        const std::int64_t index = unit_index(w, group, unit);
        raw.high = stream16(w.high + index * 16);
        raw.scales = stream8(w.scales + index * 8);
        raw.super = stream8(w.super + super_index(w, group, unit) * 8);
        return raw;
    }
    __device__ static int quants(const Raw& raw, int j, int n, int i) {
        return static_cast<int>(pairs(raw, j, n, i) | third_bits(word(raw.high, j), n, i));
    }
    __device__ static float scale(const Raw& raw, int j, int n) { return scale_of_half(raw, j, n); }
    __device__ static float offset(const Raw& raw, int j, int n) { return 4 * scale(raw, j, n); }
};

template <>
struct Units<WeightFormat::Q2_K> : PairUnits {
    struct Raw {
        uint4 quants[2];
        uint4 super;
        uint2 scales;
    };
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        load_quants(raw.quants, w, group, unit);
        raw.super = stream16(w.super + super_index(w, group, unit) * 16);
        raw.scales = stream8(w.scales + unit_index(w, group, unit) * 8);
        return raw;
    }
    __device__ static int quants(const Raw& raw, int j, int n, int i) {
        return static_cast<int>(pairs(raw, j, n, i));
    }
    __device__ static float scale(const Raw& raw, int j, int n) {
        return floats_of(word(raw.super, j)).x *
               unsigned_byte(word(raw.scales, j / 2) & 0x0f0f0f0fu, j % 2 * 2 + n);
    }
    __device__ static float offset(const Raw& raw, int j, int n) {
        return floats_of(word(raw.super, j)).y *
               unsigned_byte(word(raw.scales, j / 2) >> 4 & 0x0f0f0f0fu, j % 2 * 2 + n);
    }
};

}  // namespace voltpile::llm
