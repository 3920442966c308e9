// IQ2_XXS, IQ2_XS and IQ2_S on GPUs: one layout with three grids. Planes (matrix.h, grids/bits.h): quants has
// indices, a uint32 at gu * 4 + j, high signs, a uint32 at gu * 4 + j, scales the scales and the rest of the
// indices, a uint16 at gu * 4 + j, super fp16 d at gs * 4 + j.
#pragma once

#include "llm/ops/cuda/grids/repack.cuh"
#include "llm/ops/cuda/grids/row_units.cuh"

namespace voltpile::llm {

template <>
struct FileBlock<WeightFormat::IQ2_XXS> : GridBlock<WeightFormat::IQ2_XXS> {};
template <>
struct FileBlock<WeightFormat::IQ2_XS> : GridBlock<WeightFormat::IQ2_XS> {};
template <>
struct FileBlock<WeightFormat::IQ2_S> : GridBlock<WeightFormat::IQ2_S> {};

template <>
struct Units<WeightFormat::IQ2_S> : GridUnits<1> {
    static constexpr int scales = 2;
    __device__ static int quants(const Raw& raw, int j, int n, int i) {
        const int g = 2 * n + i / 2;
        const std::uint32_t offset = iq2_offset(word(raw.indices[0], j), word(raw.rest, j / 2), j % 2, g);
        return static_cast<int>(
            iq2_weights(grid_word<WeightFormat::IQ2_S>(offset), word(raw.signs, j), g, i % 2));
    }
    __device__ static float scale(const Raw& raw, int j, int n) {
        return half_in(raw.super, j) * iq2_factor(word(raw.rest, j / 2) >> (j % 2 * 16 + n * 4));
    }
};

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

}  // namespace voltpile::llm
