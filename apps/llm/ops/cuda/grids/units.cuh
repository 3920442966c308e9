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
};

}  // namespace voltpile::llm
