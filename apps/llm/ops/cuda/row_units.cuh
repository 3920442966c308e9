// Reads units of 32 weights of one row as fp16 or fp32, for kernels that expand whole tiles. To fp16, formats
// with an fp16 scale of 32 weights are rounded once. Those with blocks of 256 have products of two numbers as
// scales: these are rounded to fp16 first, and so is the offset of Q2_K, Q4_K and Q5_K. Each rounding changes
// a weight by 2^-12 of itself on average, a hundredth of what quantization did.
#pragma once

#include "llm/ops/cuda/units.cuh"

namespace voltpile::llm {

// load(w, row, unit) returns the raw unit. eight(raw, q, out) expands its weights 8 q to 8 q + 7 to fp32, and
// halves(raw, q) to fp16.
template <WeightFormat>
struct RowUnit;

struct RowIndex {
    std::int64_t unit;   // gu * 4 + j
    std::int64_t super;  // gs * 4 + j
    __device__ RowIndex(const DeviceMatrix& w, int row, int u) {
        const std::int64_t group = row / 4;
        unit = (group * (w.columns / 32) + u) * 4 + row % 4;
        super = (group * (w.columns / 256) + u / 8) * 4 + row % 4;
    }
};
__device__ inline uint4 quants_at(const DeviceMatrix& w, int row, int unit) {
    return *reinterpret_cast<const uint4*>(w.quants + static_cast<std::int64_t>(row) * (w.columns / 2) +
                                           unit * 16);
}

__device__ inline uint2 pairs_at(const DeviceMatrix& w, const RowIndex& index) {
    return reinterpret_cast<const uint2*>(w.quants)[index.unit];
}

template <WeightFormat format, class Raw>
__device__ inline uint4 rounded_eight(const Raw& raw, int q) {
    float value[8];
    RowUnit<format>::eight(raw, q, value);
    return halves_of(value);
}

// Expand 8 weights scale * (byte - zero) of piece q; halves_of_bytes() divides by 2^shift. bytes(n, i): word
// i in half n of the unit.
template <int zero, class Bytes>
__device__ __forceinline__ void eight_of_bytes(float scale, int q, const Bytes& bytes, float (&out)[8]) {
#pragma unroll
    for (int i = 0; i < 8; ++i)
        out[i] = scale * (unsigned_byte(bytes(q / 2, q % 2 * 2 + i / 4), i % 4) - zero);
}
template <int zero, int shift = 0, class Bytes>
__device__ __forceinline__ uint4 halves_of_bytes(__half scale, int q, const Bytes& bytes) {
    const uint2 low = scaled_bytes<zero, shift>(bytes(q / 2, q % 2 * 2), scale);
    const uint2 high = scaled_bytes<zero, shift>(bytes(q / 2, q % 2 * 2 + 1), scale);
    return make_uint4(low.x, low.y, high.x, high.y);
}

// The same for scale * byte - min. zero: the middle of the bytes; with scale * zero - min as the offset,
// weights are small differences of small numbers.
struct ScaleAndMin {
    float scale, min;
};
template <class Bytes>
__device__ __forceinline__ void eight_above_min(ScaleAndMin of, int q, const Bytes& bytes, float (&out)[8]) {
#pragma unroll
    for (int i = 0; i < 8; ++i)
        out[i] = fmaf(of.scale, unsigned_byte(bytes(q / 2, q % 2 * 2 + i / 4), i % 4), -of.min);
}
template <int zero, class Bytes>
__device__ __forceinline__ uint4 halves_above_min(ScaleAndMin of, int q, const Bytes& bytes) {
    const __half scale = __float2half_rn(of.scale);
    const __half offset = __float2half_rn(fmaf(of.scale, zero, -of.min));
    const uint2 low = scaled_bytes<zero>(bytes(q / 2, q % 2 * 2), scale, offset);
    const uint2 high = scaled_bytes<zero>(bytes(q / 2, q % 2 * 2 + 1), scale, offset);
    return make_uint4(low.x, low.y, high.x, high.y);
}

template <>
struct RowUnit<WeightFormat::F16> {
    struct Raw {
        uint4 halves[4];
    };
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        Raw raw;
        const auto* from = reinterpret_cast<const uint4*>(
            w.quants + (static_cast<std::int64_t>(row) * w.columns + unit * 32) * 2);
#pragma unroll
        for (int i = 0; i < 4; ++i) raw.halves[i] = from[i];
        return raw;
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float2 two = floats_of(word(raw.halves[q], i));
            out[2 * i] = two.x;
            out[2 * i + 1] = two.y;
        }
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        return raw.halves[q];
    }
};

template <>
struct RowUnit<WeightFormat::Q8_0> {
    struct Raw {
        uint4 quants[2];
        __half d;
    };
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        Raw raw;
        const auto* from =
            reinterpret_cast<const uint4*>(w.quants + static_cast<std::int64_t>(row) * w.columns + unit * 32);
        raw.quants[0] = from[0];
        raw.quants[1] = from[1];
        raw.d = reinterpret_cast<const __half*>(w.scales)[RowIndex(w, row, unit).unit];
        return raw;
    }
    __device__ __forceinline__ static auto bytes(const Raw& raw) {
        return [&](int n, int i) { return word(raw.quants[n], i) ^ 0x80808080u; };
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        eight_of_bytes<128>(__half2float(raw.d), q, bytes(raw), out);
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        return halves_of_bytes<128>(raw.d, q, bytes(raw));
    }
};

// The common part of the formats with 4 bits and an fp16 scale of 32 weights.
struct HalfScaleRow {
    struct Raw {
        uint4 quants;
        __half d;
    };
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        return {quants_at(w, row, unit),
                reinterpret_cast<const __half*>(w.scales)[RowIndex(w, row, unit).unit]};
    }
};

template <>
struct RowUnit<WeightFormat::Q4_0> : HalfScaleRow {
    __device__ __forceinline__ static auto bytes(const Raw& raw) {
        return [&](int n, int i) { return low_bits(raw.quants, n, i); };
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        eight_of_bytes<8>(__half2float(raw.d), q, bytes(raw), out);
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        return halves_of_bytes<8>(raw.d, q, bytes(raw));
    }
};

// Returns the weights of codes plus 128, for eight_of_bytes<128>().
__device__ __forceinline__ auto iq4_bytes(const uint4& quants) {
    return [&](int n, int i) { return iq4_values(codes_of(quants, n, i), 0x80808080u); };
}

template <>
struct RowUnit<WeightFormat::IQ4_NL> : HalfScaleRow {
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        eight_of_bytes<128>(__half2float(raw.d), q, iq4_bytes(raw.quants), out);
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        return halves_of_bytes<128>(raw.d, q, iq4_bytes(raw.quants));
    }
};

template <>
struct RowUnit<WeightFormat::IQ4_XS> {
    struct Raw {
        uint4 quants;
        __half d;
        signed char scale;
    };
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        const RowIndex index(w, row, unit);
        return {quants_at(w, row, unit), reinterpret_cast<const __half*>(w.super)[index.super],
                reinterpret_cast<const signed char*>(w.scales)[index.unit]};
    }
    __device__ __forceinline__ static float scale(const Raw& raw) {
        return __half2float(raw.d) * static_cast<float>(raw.scale);
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        eight_of_bytes<128>(scale(raw), q, iq4_bytes(raw.quants), out);
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        return halves_of_bytes<128>(__float2half_rn(scale(raw)), q, iq4_bytes(raw.quants));
    }
};

// Exponents below 2^-24 become 0 in fp16, and those above 2^15 infinite.
template <>
struct RowUnit<WeightFormat::MXFP4> {
    struct Raw {
        uint4 quants;
        std::uint8_t exponent;
    };
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        return {quants_at(w, row, unit), w.scales[RowIndex(w, row, unit).unit]};
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        const float d = half_of_exponent(raw.exponent);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            out[i] = d * signed_byte(mxfp4_values(codes_of(raw.quants, q / 2, q % 2 * 2 + i / 4)), i % 4);
        }
    }
    // The tables have the upper bytes of the codes as fp16 numbers; their lower bytes are 0.
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        const __half2 scale = __half2half2(__float2half_rn(2 * half_of_exponent(raw.exponent)));
        uint4 out;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const std::uint32_t upper = look_up(codes_of(raw.quants, q / 2, q % 2 * 2 + i), 0x3e3c3800u,
                                                0x46444240u, 0xbebcb880u, 0xc6c4c2c0u);
#pragma unroll
            for (int p = 0; p < 2; ++p) {
                const std::uint32_t two = __byte_perm(upper, 0, p == 0 ? 0x1404u : 0x3424u);
                reinterpret_cast<__half2*>(&out)[2 * i + p] =
                    __hmul2(*reinterpret_cast<const __half2*>(&two), scale);
            }
        }
        return out;
    }
};

template <>
struct RowUnit<WeightFormat::Q4_K> {
    struct Raw {
        uint4 quants;
        __half2 d;
        uchar2 scales;
    };
    template <class R>
    __device__ static void load_common(R& raw, const DeviceMatrix& w, int row, int unit) {
        const RowIndex index(w, row, unit);
        raw.quants = quants_at(w, row, unit);
        raw.d = reinterpret_cast<const __half2*>(w.super)[index.super];
        raw.scales = reinterpret_cast<const uchar2*>(w.scales)[index.unit];
    }
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        Raw raw;
        load_common(raw, w, row, unit);
        return raw;
    }
    template <class R>
    __device__ __forceinline__ static ScaleAndMin scale_and_min(const R& raw) {
        const float2 d = __half22float2(raw.d);
        return {d.x * static_cast<float>(raw.scales.x), d.y * static_cast<float>(raw.scales.y)};
    }
    __device__ __forceinline__ static auto bytes(const Raw& raw) {
        return [&](int n, int i) { return low_bits(raw.quants, n, i); };
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        eight_above_min(scale_and_min(raw), q, bytes(raw), out);
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        return halves_above_min<8>(scale_and_min(raw), q, bytes(raw));
    }
};

template <>
struct RowUnit<WeightFormat::Q5_K> {
    struct Raw {
        uint4 quants;
        __half2 d;
        uchar2 scales;
        std::uint32_t high;
    };
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        Raw raw;
        RowUnit<WeightFormat::Q4_K>::load_common(raw, w, row, unit);
        raw.high = reinterpret_cast<const std::uint32_t*>(w.high)[RowIndex(w, row, unit).unit];
        return raw;
    }
    __device__ __forceinline__ static auto bytes(const Raw& raw) {
        return [&](int n, int i) { return low_bits(raw.quants, n, i) | fifth_bits(raw.high, n, i); };
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        eight_above_min(RowUnit<WeightFormat::Q4_K>::scale_and_min(raw), q, bytes(raw), out);
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
        return rounded_eight<WeightFormat::Q5_K>(raw, q);  // the other way needs more registers
#else
        return halves_above_min<16>(RowUnit<WeightFormat::Q4_K>::scale_and_min(raw), q, bytes(raw));
#endif
    }
};

template <>
struct RowUnit<WeightFormat::Q5_1> {
    struct Raw {
        uint4 quants;
        std::uint32_t high;
        __half2 scale_and_min;
    };
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        const RowIndex index(w, row, unit);
        return {quants_at(w, row, unit), reinterpret_cast<const std::uint32_t*>(w.high)[index.unit],
                reinterpret_cast<const __half2*>(w.scales)[index.unit]};
    }
    __device__ __forceinline__ static auto bytes(const Raw& raw) {
        return [&](int n, int i) { return low_bits(raw.quants, n, i) | fifth_bits(raw.high, n, i); };
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        const float2 of = __half22float2(raw.scale_and_min);
        eight_above_min({of.x, -of.y}, q, bytes(raw), out);
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        const __half scale = __low2half(raw.scale_and_min), min = __high2half(raw.scale_and_min);
        const uint2 low = scaled_bytes<0>(bytes(raw)(q / 2, q % 2 * 2), scale, min);
        const uint2 high = scaled_bytes<0>(bytes(raw)(q / 2, q % 2 * 2 + 1), scale, min);
        return make_uint4(low.x, low.y, high.x, high.y);
    }
};

// Returns d times the int8 scale of the half that piece q is in.
template <class Raw>
__device__ __forceinline__ float row_scale_of_half(const Raw& raw, int q) {
    return __half2float(raw.d) * static_cast<float>(q < 2 ? raw.scales.x : raw.scales.y);
}

template <>
struct RowUnit<WeightFormat::Q6_K> {
    struct Raw {
        uint4 quants;
        uint2 high;
        char2 scales;
        __half d;
    };
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        const RowIndex index(w, row, unit);
        return {quants_at(w, row, unit), reinterpret_cast<const uint2*>(w.high)[index.unit],
                reinterpret_cast<const char2*>(w.scales)[index.unit],
                reinterpret_cast<const __half*>(w.super)[index.super]};
    }
    __device__ __forceinline__ static auto bytes(const Raw& raw) {
        return [&](int n, int i) {
            return low_bits(raw.quants, n, i) | sixth_bits(word(raw.high, i / 2), n, i);
        };
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        eight_of_bytes<32>(row_scale_of_half(raw, q), q, bytes(raw), out);
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        return halves_of_bytes<32>(__float2half_rn(row_scale_of_half(raw, q)), q, bytes(raw));
    }
};

template <>
struct RowUnit<WeightFormat::Q3_K> {
    struct Raw {
        uint2 quants;
        std::uint32_t high;
        char2 scales;
        __half d;
    };
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        const RowIndex index(w, row, unit);
        return {pairs_at(w, index), reinterpret_cast<const std::uint32_t*>(w.high)[index.unit],
                reinterpret_cast<const char2*>(w.scales)[index.unit],
                reinterpret_cast<const __half*>(w.super)[index.super]};
    }
    __device__ __forceinline__ static auto bytes(const Raw& raw) {
        return [&](int n, int i) {
            return two_low_bits(word(raw.quants, i / 2), n, i) | third_bits(raw.high, n, i);
        };
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        eight_of_bytes<4>(row_scale_of_half(raw, q), q, bytes(raw), out);
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        return halves_of_bytes<4>(__float2half_rn(row_scale_of_half(raw, q)), q, bytes(raw));
    }
};

template <>
struct RowUnit<WeightFormat::Q2_K> {
    struct Raw {
        uint2 quants;
        __half2 d;
        uchar2 scales;
    };
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        const RowIndex index(w, row, unit);
        return {pairs_at(w, index), reinterpret_cast<const __half2*>(w.super)[index.super],
                reinterpret_cast<const uchar2*>(w.scales)[index.unit]};
    }
    __device__ __forceinline__ static ScaleAndMin scale_and_min(const Raw& raw, int q) {
        const float2 d = __half22float2(raw.d);
        const int both = q < 2 ? raw.scales.x : raw.scales.y;
        return {d.x * static_cast<float>(both & 15), d.y * static_cast<float>(both >> 4)};
    }
    __device__ __forceinline__ static auto bytes(const Raw& raw) {
        return [&](int n, int i) { return two_low_bits(word(raw.quants, i / 2), n, i); };
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        eight_above_min(scale_and_min(raw, q), q, bytes(raw), out);
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        return halves_above_min<2>(scale_and_min(raw, q), q, bytes(raw));
    }
};

}  // namespace voltpile::llm
