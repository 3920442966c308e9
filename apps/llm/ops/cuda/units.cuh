// Reads units of weights (matrix.h), for each format.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "llm/ops/cuda/matrix.h"

namespace voltpile::llm {

// Loads 16 bytes without allocating in L1: weights are read once and must not evict the activations.
__device__ inline uint4 stream16(const void* from) {
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from));
    return v;
}
__device__ inline uint2 stream8(const void* from) {
    uint2 v;
    asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(from));
    return v;
}
__device__ inline std::uint32_t stream4(const void* from) {
    std::uint32_t v;
    asm volatile("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(v) : "l"(from));
    return v;
}

__device__ inline float2 floats_of(std::uint32_t two_halves) {
    return __half22float2(*reinterpret_cast<const __half2*>(&two_halves));
}
__device__ inline std::uint32_t word(const uint4& v, int i) {
    return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}
__device__ inline std::uint32_t word(const uint2& v, int i) {
    return i == 0 ? v.x : v.y;
}
// Returns element j of an array of fp16 numbers in registers.
template <class Words>
__device__ inline float half_in(const Words& words, int j) {
    const float2 two = floats_of(word(words, j / 2));
    return j % 2 == 0 ? two.x : two.y;
}
__device__ inline std::uint32_t byte_of(std::uint32_t v, int b) {
    return (v >> (8 * b)) & 255;
}
// Returns byte b of v as fp32. It becomes the low byte of the significand of 2^23, which is then subtracted;
// a conversion instruction would take four times as long.
__device__ inline float unsigned_byte(std::uint32_t v, int b) {
    return __uint_as_float(__byte_perm(v, 0x4b000000u, 0x7540u + static_cast<unsigned>(b))) - 8388608.0f;
}
__device__ inline float signed_byte(std::uint32_t v, int b) {
    return __uint_as_float(__byte_perm(v ^ 0x80808080u, 0x4b000000u, 0x7540u + static_cast<unsigned>(b))) -
           8388736.0f;
}
// Converts eight numbers to fp16.
__device__ inline uint4 halves_of(const float* value) {
    uint4 halves;
    auto* pair = reinterpret_cast<__half2*>(&halves);
#pragma unroll
    for (int p = 0; p < 4; ++p) pair[p] = __floats2half2_rn(value[2 * p], value[2 * p + 1]);
    return halves;
}

// Return 4 quants as the bytes of a word, from the low and high bits of word i in half n of the unit.
__device__ inline std::uint32_t low_bits(const uint4& quants, int n, int i) {
    return (word(quants, i) >> (4 * n)) & 0x0f0f0f0fu;
}
__device__ inline std::uint32_t fifth_bits(std::uint32_t high, int n, int i) {
    const int shift = 2 * i + n;
    return (shift <= 4 ? high << (4 - shift) : high >> (shift - 4)) & 0x10101010u;
}
__device__ inline std::uint32_t sixth_bits(std::uint32_t high, int n, int i) {
    const int shift = 4 * (i % 2) + 2 * n;
    return (shift <= 4 ? high << (4 - shift) : high >> (shift - 4)) & 0x30303030u;
}

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

// The common part of the formats that store their low 4 bits as nibbles.
struct NibbleUnits {
    static constexpr int slices = 2;
    static constexpr bool has_offset = true;
    __device__ static void load_quants(uint4 (&quants)[4], const DeviceMatrix& w, int group, int unit) {
        const int row_bytes = w.columns / 2;
        const std::uint8_t* from = w.quants + static_cast<std::int64_t>(group) * 4 * row_bytes + unit * 16;
#pragma unroll
        for (int j = 0; j < 4; ++j) quants[j] = stream16(from + static_cast<std::int64_t>(j) * row_bytes);
    }
    __device__ static std::int64_t unit_index(const DeviceMatrix& w, int group, int unit) {
        return static_cast<std::int64_t>(group) * (w.columns / 32) + unit;
    }
    __device__ static std::int64_t super_index(const DeviceMatrix& w, int group, int unit) {
        return static_cast<std::int64_t>(group) * (w.columns / 256) + unit / 8;
    }
};

template <>
struct Units<WeightFormat::Q4_0> : NibbleUnits {
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
    __device__ static int quants(const Raw& raw, int j, int n, int i) {
        return static_cast<int>(low_bits(raw.quants[j], n, i));
    }
    __device__ static float scale(const Raw& raw, int j, int) { return half_in(raw.scales, j); }
    __device__ static float offset(const Raw& raw, int j, int) { return 8 * half_in(raw.scales, j); }
};

// Looks up four codes of MXFP4, the low 16 bits of v, in a table of the bytes of codes 0 to 7 (low, high) and
// one of those of 8 to 15. Returns the bytes as a word.
__device__ inline std::uint32_t look_up(std::uint32_t v, std::uint32_t low, std::uint32_t high,
                                        std::uint32_t negative_low, std::uint32_t negative_high) {
    const std::uint32_t magnitudes = v & 0x77777777u;
    const std::uint32_t positive = __byte_perm(low, high, magnitudes);
    const std::uint32_t negative = __byte_perm(negative_low, negative_high, magnitudes);
    return __byte_perm(positive, negative, 0x3210u | (v & 0x8888u) >> 1);
}
// Returns 2^(e - 128), half of what the exponent e of MXFP4 means: quants are twice the weights.
__device__ inline float half_of_exponent(std::uint32_t e) {
    return __uint_as_float(e < 2 ? 0x00200000u << e : (e - 1) << 23);
}

template <>
struct Units<WeightFormat::MXFP4> : NibbleUnits {
    static constexpr bool has_offset = false;
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
        return static_cast<int>(
            look_up(word(raw.quants[j], i) >> (16 * n), 0x03020100u, 0x0c080604u, 0xfdfeff00u, 0xf4f8fafcu));
    }
    __device__ static float scale(const Raw& raw, int j, int) {
        return half_of_exponent(byte_of(raw.exponents, j));
    }
    __device__ static float offset(const Raw&, int, int) { return 0; }
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
    __device__ static float scale(const Raw& raw, int j, int n) {
        const std::uint32_t byte = byte_of(word(raw.scales, j / 2), j % 2 * 2 + n);
        return half_in(raw.super, j) * static_cast<float>(static_cast<signed char>(byte));
    }
    __device__ static float offset(const Raw& raw, int j, int n) { return 32 * scale(raw, j, n); }
};

}  // namespace voltpile::llm
