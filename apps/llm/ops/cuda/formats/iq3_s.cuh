// IQ3_XXS and IQ3_S on GPUs: one layout with two grids. Planes (matrix.h, grids/bits.h): those of IQ2, but
// quants has two uint32 at (gu * 4 + j) * 2.
#pragma once

#include "llm/ops/cuda/grids/repack.cuh"
#include "llm/ops/cuda/grids/row_units.cuh"

namespace voltpile::llm {

template <>
struct FileBlock<WeightFormat::IQ3_XXS> : GridBlock<WeightFormat::IQ3_XXS> {};
template <>
struct FileBlock<WeightFormat::IQ3_S> : GridBlock<WeightFormat::IQ3_S> {};

template <>
struct Units<WeightFormat::IQ3_S> : GridUnits<2> {
    __device__ static int quants(const Raw& raw, int j, int n, int i) {
        const std::uint32_t offset =
            iq3_offset(word(raw.indices[j / 2], j % 2 * 2 + n), word(raw.rest, j / 2), j % 2, 4 * n + i);
        return static_cast<int>(
            iq3_weights(grid_word<WeightFormat::IQ3_S>(offset), word(raw.signs, j), 4 * n + i));
    }
    __device__ static float scale(const Raw& raw, int j, int) {
        return half_in(raw.super, j) * iq3_factor(word(raw.rest, j / 2) >> (j % 2 * 16));
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
