// Reads units of weights of IQ2 and IQ3 of one row (row_units.cuh). The grid must be in shared memory
// (bring_grid()).
#pragma once

#include "llm/ops/cuda/grids/units.cuh"
#include "llm/ops/cuda/row_units.cuh"

namespace voltpile::llm {

// Scales of IQ2 and IQ3 are small, so that fp16 rounds them times 2^5, and weights in units of 2^-5.
template <class Bytes>
__device__ __forceinline__ uint4 halves_of_grid(float scale, int q, const Bytes& bytes) {
    return halves_of_bytes<128, 5>(__float2half_rn(scale * 32), q, bytes);
}

template <>
struct RowUnit<WeightFormat::IQ2_S> {
    struct Raw {
        std::uint32_t indices, signs;
        std::uint16_t rest;
        __half d;
    };
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        const RowIndex index(w, row, unit);
        return {reinterpret_cast<const std::uint32_t*>(w.quants)[index.unit],
                reinterpret_cast<const std::uint32_t*>(w.high)[index.unit],
                reinterpret_cast<const std::uint16_t*>(w.scales)[index.unit],
                reinterpret_cast<const __half*>(w.super)[index.super]};
    }
    __device__ __forceinline__ static float scale(const Raw& raw, int q) {
        return __half2float(raw.d) * iq2_factor(static_cast<std::uint32_t>(raw.rest) >> q / 2 * 4);
    }
    __device__ __forceinline__ static auto bytes(const Raw& raw) {
        return [&](int n, int i) {
            const int g = 2 * n + i / 2;
            const std::uint32_t offset = iq2_offset(raw.indices, raw.rest, 0, g);
            return iq2_weights(grid_word<WeightFormat::IQ2_S>(offset), raw.signs, g, i % 2, 0x80808080u);
        };
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        eight_of_bytes<128>(scale(raw, q), q, bytes(raw), out);
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        return halves_of_grid(scale(raw, q), q, bytes(raw));
    }
};

template <>
struct RowUnit<WeightFormat::IQ3_S> {
    struct Raw {
        uint2 indices;
        std::uint32_t signs;
        std::uint16_t rest;
        __half d;
    };
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        const RowIndex index(w, row, unit);
        return {pairs_at(w, index), reinterpret_cast<const std::uint32_t*>(w.high)[index.unit],
                reinterpret_cast<const std::uint16_t*>(w.scales)[index.unit],
                reinterpret_cast<const __half*>(w.super)[index.super]};
    }
    __device__ __forceinline__ static float scale(const Raw& raw) {
        return __half2float(raw.d) * iq3_factor(raw.rest);
    }
    __device__ __forceinline__ static auto bytes(const Raw& raw) {
        return [&](int n, int i) {
            const int e = 4 * n + i;
            const std::uint32_t offset = iq3_offset(word(raw.indices, n), raw.rest, 0, e);
            return iq3_weights(grid_word<WeightFormat::IQ3_S>(offset), raw.signs, e, 0x80808080u);
        };
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        eight_of_bytes<128>(scale(raw), q, bytes(raw), out);
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        return halves_of_grid(scale(raw), q, bytes(raw));
    }
};

}  // namespace voltpile::llm
