// Units of 32 weights of one row, for what turns whole tiles of weights into fp16 or fp32.
#pragma once

#include <type_traits>

#include "llm/ops/cuda_units.cuh"

namespace voltpile::llm {

// load(w, row, unit) and then values(raw, out): the 32 weights as fp32, in order.
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
// Eight numbers as fp16, in order.
__device__ inline uint4 halves_of(const float* value) {
    uint4 halves;
    auto* pair = reinterpret_cast<__half2*>(&halves);
#pragma unroll
    for (int p = 0; p < 4; ++p) pair[p] = __floats2half2_rn(value[2 * p], value[2 * p + 1]);
    return halves;
}
__device__ inline uint4 quants_at(const DeviceMatrix& w, int row, int unit) {
    return *reinterpret_cast<const uint4*>(w.quants + static_cast<std::int64_t>(row) * (w.columns / 2) +
                                           unit * 16);
}

template <>
struct RowUnit<WeightFormat::F16> {
    struct Raw {
        uint4 halves[4];
    };
    __device__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        Raw raw;
        const auto* from = reinterpret_cast<const uint4*>(
            w.quants + (static_cast<std::int64_t>(row) * w.columns + unit * 32) * 2);
#pragma unroll
        for (int i = 0; i < 4; ++i) raw.halves[i] = from[i];
        return raw;
    }
    __device__ static void values(const Raw& raw, float (&out)[32]) {
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            const float2 two = floats_of(word(raw.halves[i / 4], i % 4));
            out[2 * i] = two.x;
            out[2 * i + 1] = two.y;
        }
    }
};

template <>
struct RowUnit<WeightFormat::Q8_0> {
    struct Raw {
        uint4 quants[2];
        __half d;
    };
    __device__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        Raw raw;
        const auto* from =
            reinterpret_cast<const uint4*>(w.quants + static_cast<std::int64_t>(row) * w.columns + unit * 32);
        raw.quants[0] = from[0];
        raw.quants[1] = from[1];
        raw.d = reinterpret_cast<const __half*>(w.scales)[RowIndex(w, row, unit).unit];
        return raw;
    }
    __device__ static void values(const Raw& raw, float (&out)[32]) {
        const float d = __half2float(raw.d);
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            const std::uint32_t byte = byte_of(word(raw.quants[i / 16], i % 16 / 4), i % 4);
            out[i] = d * static_cast<float>(static_cast<signed char>(byte));
        }
    }
};

template <>
struct RowUnit<WeightFormat::Q4_0> {
    struct Raw {
        uint4 quants;
        __half d;
    };
    __device__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        return {quants_at(w, row, unit),
                reinterpret_cast<const __half*>(w.scales)[RowIndex(w, row, unit).unit]};
    }
    __device__ static void values(const Raw& raw, float (&out)[32]) {
        const float d = __half2float(raw.d);
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            const std::uint32_t q = byte_of(low_bits(raw.quants, i / 16, i % 16 / 4), i % 4);
            out[i] = d * static_cast<float>(static_cast<int>(q) - 8);
        }
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
    __device__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        Raw raw;
        load_common(raw, w, row, unit);
        return raw;
    }
    template <class R, class Quants>
    __device__ static void scaled(const R& raw, Quants quants, float (&out)[32]) {
        const float2 d = __half22float2(raw.d);
        const float scale = d.x * static_cast<float>(raw.scales.x);
        const float min = d.y * static_cast<float>(raw.scales.y);
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            out[i] = fmaf(scale, static_cast<float>(byte_of(quants(i / 16, i % 16 / 4), i % 4)), -min);
        }
    }
    __device__ static void values(const Raw& raw, float (&out)[32]) {
        scaled(raw, [&](int n, int i) { return low_bits(raw.quants, n, i); }, out);
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
    __device__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        Raw raw;
        RowUnit<WeightFormat::Q4_K>::load_common(raw, w, row, unit);
        raw.high = reinterpret_cast<const std::uint32_t*>(w.high)[RowIndex(w, row, unit).unit];
        return raw;
    }
    __device__ static void values(const Raw& raw, float (&out)[32]) {
        RowUnit<WeightFormat::Q4_K>::scaled(
            raw, [&](int n, int i) { return low_bits(raw.quants, n, i) | fifth_bits(raw.high, n, i); }, out);
    }
};

template <>
struct RowUnit<WeightFormat::Q6_K> {
    struct Raw {
        uint4 quants;
        uint2 high;
        char2 scales;
        __half d;
    };
    __device__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        const RowIndex index(w, row, unit);
        return {quants_at(w, row, unit), reinterpret_cast<const uint2*>(w.high)[index.unit],
                reinterpret_cast<const char2*>(w.scales)[index.unit],
                reinterpret_cast<const __half*>(w.super)[index.super]};
    }
    __device__ static void values(const Raw& raw, float (&out)[32]) {
        const float d = __half2float(raw.d);
        const float scale[2] = {d * static_cast<float>(raw.scales.x), d * static_cast<float>(raw.scales.y)};
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            const int n = i / 16, w = i % 16 / 4;
            const std::uint32_t q = low_bits(raw.quants, n, w) | sixth_bits(word(raw.high, w / 2), n, w);
            out[i] = scale[n] * static_cast<float>(static_cast<int>(byte_of(q, i % 4)) - 32);
        }
    }
};

// `call` gets the format as a constant.
template <class Call>
void with_format(WeightFormat format, const Call& call) {
    switch (format) {
        case WeightFormat::Q8_0:
            return call(std::integral_constant<WeightFormat, WeightFormat::Q8_0>());
        case WeightFormat::Q4_0:
            return call(std::integral_constant<WeightFormat, WeightFormat::Q4_0>());
        case WeightFormat::Q4_K:
            return call(std::integral_constant<WeightFormat, WeightFormat::Q4_K>());
        case WeightFormat::Q5_K:
            return call(std::integral_constant<WeightFormat, WeightFormat::Q5_K>());
        case WeightFormat::Q6_K:
            return call(std::integral_constant<WeightFormat, WeightFormat::Q6_K>());
        case WeightFormat::F32:
        case WeightFormat::F16:
        case WeightFormat::BF16:
            return call(std::integral_constant<WeightFormat, WeightFormat::F16>());
    }
}

}  // namespace voltpile::llm
