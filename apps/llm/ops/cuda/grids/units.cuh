// Reads units of weights of IQ2 and IQ3 for matrix-vector products (units.cuh). The grid must be in shared
// memory (bring_grid()).
#pragma once

#include "llm/ops/cuda/grids/bits.h"
#include "llm/ops/cuda/grids/table.cuh"
#include "llm/ops/cuda/units.cuh"

namespace voltpile::llm {

// The common part. words: uint4 of the indices of 4 rows.
template <int words>
struct GridUnits : UnitIndex {
    static constexpr bool has_offset = false;
    struct Raw {
        uint4 indices[words];
        uint4 signs;
        uint2 rest;
        uint2 super;
    };
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        const std::int64_t index = unit_index(w, group, unit);
#pragma unroll
        for (int i = 0; i < words; ++i) raw.indices[i] = stream16(w.quants + (index * words + i) * 16);
        raw.signs = stream16(w.high + index * 16);
        raw.rest = stream8(w.scales + index * 8);
        raw.super = stream8(w.super + super_index(w, group, unit) * 8);
        return raw;
    }
    __device__ static float offset(const Raw&, int, int) {
        return 0;
    }
};

template <>
struct Units<WeightFormat::IQ2_S> : GridUnits<1> {
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

}  // namespace voltpile::llm
