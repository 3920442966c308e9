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

// Returns the weights of codes plus 128, for eight_of_bytes<128>().
__device__ __forceinline__ auto iq4_bytes(const uint4& quants) {
    return [&](int n, int i) { return iq4_values(codes_of(quants, n, i), 0x80808080u); };
}

// Returns d times the int8 scale of the half that piece q is in.
template <class Raw>
__device__ __forceinline__ float row_scale_of_half(const Raw& raw, int q) {
    return __half2float(raw.d) * static_cast<float>(q < 2 ? raw.scales.x : raw.scales.y);
}

}  // namespace voltpile::llm
