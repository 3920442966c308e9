// IQ1_S and IQ1_M on GPUs: one layout with one grid. Planes (matrix.h, grids/iq1.h): quants has indices, a
// uint32 at gu * 4 + j, high a uint16 at gu * 4 + j, scales a uint8 at gu * 4 + j, super fp16 d at gs * 4 +
// j.
#pragma once

#include "llm/ops/cuda/grids/iq1.h"
#include "llm/ops/cuda/grids/row_units.cuh"
#include "llm/ops/cuda/repack.cuh"

namespace voltpile::llm {

template <WeightFormat format>
struct Iq1Block {
    __device__ static void repack(const std::uint8_t* blocks, const ThreadUnit& mine, const Planes& to) {
        const std::uint8_t* block = blocks + mine.index / 8 * bytes_of_block<format>;
        const Place& place = mine.place;
        const Iq1Unit unit = iq1_unit<format>(block, mine.part);
        reinterpret_cast<std::uint32_t*>(to.quants)[place.unit] = unit.indices;
        reinterpret_cast<std::uint16_t*>(to.high)[place.unit] = unit.high;
        to.scales[place.unit] = unit.scales;
        if (mine.part == 0)
            reinterpret_cast<std::uint16_t*>(to.super)[place.super] = iq1_block_scale<format>(block);
    }
};
template <>
struct FileBlock<WeightFormat::IQ1_S> : Iq1Block<WeightFormat::IQ1_S> {};
template <>
struct FileBlock<WeightFormat::IQ1_M> : Iq1Block<WeightFormat::IQ1_M> {};

template <>
struct Units<WeightFormat::IQ1_S> : UnitIndex {
    static constexpr int scales = 2;
    struct Raw {
        uint4 indices;
        uint2 high, super;
        std::uint32_t scales;
    };
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        const std::int64_t index = unit_index(w, group, unit);
        return {stream16(w.quants + index * 16), stream8(w.high + index * 8),
                stream8(w.super + super_index(w, group, unit) * 8), stream4(w.scales + index * 4)};
    }
    __device__ static int quants(const Raw& raw, int j, int n, int i) {
        const int g = 2 * n + i / 2;
        const std::uint32_t high = word(raw.high, j / 2) >> j % 2 * 16;
        const std::uint32_t entry = grid_word<WeightFormat::IQ1_S>(iq1_offset(word(raw.indices, j), high, g));
        return static_cast<int>(iq1_weights(entry, high, g, i % 2));
    }
    __device__ static float scale(const Raw& raw, int j, int n) {
        return half_in(raw.super, j) * iq2_factor(raw.scales >> (8 * j + 4 * n));
    }
};

template <>
struct RowUnit<WeightFormat::IQ1_S> {
    struct Raw {
        std::uint32_t indices;
        std::uint16_t high;
        std::uint8_t scales;
        __half d;
    };
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        const RowIndex index(w, row, unit);
        return {reinterpret_cast<const std::uint32_t*>(w.quants)[index.unit],
                reinterpret_cast<const std::uint16_t*>(w.high)[index.unit], w.scales[index.unit],
                reinterpret_cast<const __half*>(w.super)[index.super]};
    }
    __device__ __forceinline__ static float scale(const Raw& raw, int q) {
        return __half2float(raw.d) * iq2_factor(static_cast<std::uint32_t>(raw.scales) >> q / 2 * 4);
    }
    __device__ __forceinline__ static auto bytes(const Raw& raw) {
        return [&](int n, int i) {
            const int g = 2 * n + i / 2;
            const std::uint32_t offset = iq1_offset(raw.indices, raw.high, g);
            return iq1_weights(grid_word<WeightFormat::IQ1_S>(offset), raw.high, g, i % 2, 0x80808080u);
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
