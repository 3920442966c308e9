// Q3_K on GPUs. Planes (matrix.h): quants has pairs of bits, high the third bits, scales int8 scales of the
// unit's halves at (gu * 4 + j) * 2, super fp16 d at gs * 4 + j.
#pragma once

#include "llm/ops/cuda/repack.cuh"
#include "llm/ops/cuda/row_units.cuh"

namespace voltpile::llm {

// Q3_K blocks: 32 bytes of third bits, 64 bytes of low bit pairs, 12 bytes with low nibbles and high pairs of
// scales, d; two halves of 128 weights.
template <>
struct FileBlock<WeightFormat::Q3_K> {
    __device__ static void repack(const std::uint8_t* blocks, const ThreadUnit& mine, const Planes& to) {
        const int part = mine.part;
        const std::uint8_t* block = blocks + mine.index / 8 * bytes_of_block<WeightFormat::Q3_K>;
        const std::uint8_t* packed = block + 96;
        const Place& place = mine.place;

        put_pairs(block + 32 + 32 * (part / 4), part % 4, to.quants + place.unit * 8);
        reinterpret_cast<std::uint32_t*>(to.high)[place.unit] = plane_of_bits(block, part);
        for (int n = 0; n < 2; ++n) {
            const int k = 2 * part + n;
            const int low = k < 8 ? packed[k] & 15 : packed[k - 8] >> 4,
                      high = packed[8 + k % 4] >> (k / 4 * 2) & 3;
            to.scales[place.unit * 2 + n] = static_cast<std::uint8_t>((low | high << 4) - 32);
        }
        if (part == 0) reinterpret_cast<std::uint16_t*>(to.super)[place.super] = block_half(block + 108);
    }
};

template <>
struct Units<WeightFormat::Q3_K> : PairUnits {
    static constexpr int zero = 4;
    struct Raw {
        uint4 quants[2];
        uint4 high;
        uint2 scales;
        uint2 super;
    };
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        load_quants(raw.quants, w, group, unit);
        const std::int64_t index = unit_index(w, group, unit);
        raw.high = stream16(w.high + index * 16);
        raw.scales = stream8(w.scales + index * 8);
        raw.super = stream8(w.super + super_index(w, group, unit) * 8);
        return raw;
    }
    __device__ static int quants(const Raw& raw, int j, int n, int i) {
        return static_cast<int>(pairs(raw, j, n, i) | third_bits(word(raw.high, j), n, i));
    }
    __device__ static float scale(const Raw& raw, int j, int n) { return scale_of_half(raw, j, n); }
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

}  // namespace voltpile::llm
