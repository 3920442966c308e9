// Reads units of weights (matrix.h): what formats share. formats/ has them.
#pragma once

#include "llm/ops/cuda/matrix.h"
#include "llm/ops/cuda/unit_words.cuh"

namespace voltpile::llm {

// Units of 4 rows at once, for matrix-vector products. A lane's unit has `halves` halves of 16 weights, and
// each half a scale, or both the same one (scales = 1).
//   quants(raw, j, n, i): word i of row j, half n: 4 quants as int8
//   fractions(raw, j, n, i): if the format has them, as many fractions of these, in 1/256, as int8
//   scale(raw, j, n), and offset(raw, j, n) if the format has offsets:
//   weight = scale * (quant + fraction - zero) - offset
template <WeightFormat>
struct Units;

struct UnitIndex {
    static constexpr int halves = 2, scales = 1, zero = 0;
    __device__ static std::int64_t unit_index(const DeviceMatrix& w, int group, int unit) {
        return static_cast<std::int64_t>(group) * (w.columns / 32) + unit;
    }
    __device__ static std::int64_t super_index(const DeviceMatrix& w, int group, int unit) {
        return static_cast<std::int64_t>(group) * (w.columns / 256) + unit / 8;
    }
};

// The common part of the formats that store their low 4 bits as nibbles.
struct NibbleUnits : UnitIndex {
    __device__ static void load_quants(uint4 (&quants)[4], const DeviceMatrix& w, int group, int unit) {
        const int row_bytes = w.columns / 2;
        const std::uint8_t* from = w.quants + static_cast<std::int64_t>(group) * 4 * row_bytes + unit * 16;
#pragma unroll
        for (int j = 0; j < 4; ++j) quants[j] = stream16(from + static_cast<std::int64_t>(j) * row_bytes);
    }
};

// The common part of the formats that store their low 2 bits in pairs of words.
struct PairUnits : UnitIndex {
    static constexpr int scales = 2;
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

// The common part of IQ4_NL and IQ4_XS. Nibbles: NibbleUnits or derived from it.
template <class Nibbles>
struct Iq4Units : Nibbles {
    template <class R>
    __device__ static int quants(const R& raw, int j, int n, int i) {
        return static_cast<int>(iq4_values(codes_of(raw.quants[j], n, i)));
    }
};

// Returns d times the int8 scale of half n.
template <class R>
__device__ inline float scale_of_half(const R& raw, int j, int n) {
    return half_in(raw.super, j) * signed_byte(word(raw.scales, j / 2), j % 2 * 2 + n);
}

}  // namespace voltpile::llm
