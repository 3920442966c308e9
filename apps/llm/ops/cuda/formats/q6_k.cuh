// Q6_K on GPUs. Planes (matrix.h): quants has nibbles, high pairs of bits, scales int8 scales of the unit's
// halves at (gu * 4 + j) * 2, super fp16 d at gs * 4 + j.
#pragma once

#include "llm/ops/cuda/repack.cuh"
#include "llm/ops/cuda/row_units.cuh"

namespace voltpile::llm {

// Q6_K blocks: 128 bytes of low nibbles, 64 bytes of high bit pairs, 16 int8 scales, d; two halves of 128
// weights.
template <>
struct FileBlock<WeightFormat::Q6_K> {
    __device__ static void repack(const std::uint8_t* blocks, const ThreadUnit& mine, const Planes& to) {
        const int part = mine.part, half = part / 4, quarter = part % 4;
        const std::uint8_t* block = blocks + mine.index / 8 * bytes_of_block<WeightFormat::Q6_K>;
        const std::uint8_t* low = block + 64 * half + 32 * (quarter % 2);
        const std::uint8_t* pairs = block + 128 + 32 * half;
        const int shift = quarter / 2 * 4;
        const Place& place = mine.place;

        for (int i = 0; i < 16; ++i) {
            const int first = low[i] >> shift & 15, second = low[16 + i] >> shift & 15;
            place.quants[i] = static_cast<std::uint8_t>(first | second << 4);
        }
        put_pairs(pairs, quarter, to.high + place.unit * 8);
        to.scales[place.unit * 2] = block[192 + 2 * part];
        to.scales[place.unit * 2 + 1] = block[192 + 2 * part + 1];
        if (part == 0) reinterpret_cast<std::uint16_t*>(to.super)[place.super] = block_half(block + 208);
    }
};

template <>
struct Units<WeightFormat::Q6_K> : NibbleUnits {
    static constexpr int scales = 2, zero = 32;
    struct Raw {
        uint4 quants[4];
        uint4 high[2];
        uint2 scales;
        uint2 super;
    };
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        load_quants(raw.quants, w, group, unit);
        const std::int64_t index = unit_index(w, group, unit);
        raw.high[0] = stream16(w.high + index * 32);
        raw.high[1] = stream16(w.high + index * 32 + 16);
        raw.scales = stream8(w.scales + index * 8);
        raw.super = stream8(w.super + super_index(w, group, unit) * 8);
        return raw;
    }
    __device__ static int quants(const Raw& raw, int j, int n, int i) {
        return static_cast<int>(
            six_bits_of_all(raw.quants[j], word(raw.high[j / 2], j % 2 * 2 + i / 2), n, i));
    }
    __device__ static float scale(const Raw& raw, int j, int n) { return scale_of_half(raw, j, n); }
};

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

}  // namespace voltpile::llm
