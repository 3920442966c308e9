// Q2_K on GPUs. Planes (matrix.h): quants has pairs of bits, scales bytes for the unit's halves at
// (gu * 4 + j) * 2, with a scale in the low nibble and a minimum in the high nibble, super fp16 d and dmin at
// (gs * 4 + j) * 2.
#pragma once

#include "llm/ops/cuda/repack.cuh"
#include "llm/ops/cuda/row_units.cuh"

namespace voltpile::llm {

// Q2_K blocks: 16 bytes with a scale and a minimum of 4 bits, 64 bytes of bit pairs, d, dmin; two halves of
// 128 weights.
template <>
struct FileBlock<WeightFormat::Q2_K> {
    __device__ static void repack(const std::uint8_t* blocks, const ThreadUnit& mine, const Planes& to) {
        const int part = mine.part;
        const std::uint8_t* block = blocks + mine.index / 8 * bytes_of_block<WeightFormat::Q2_K>;
        const Place& place = mine.place;

        put_pairs(block + 16 + 32 * (part / 4), part % 4, to.quants + place.unit * 8);
        to.scales[place.unit * 2] = block[2 * part];
        to.scales[place.unit * 2 + 1] = block[2 * part + 1];
        if (part == 0) {
            reinterpret_cast<std::uint16_t*>(to.super)[place.super * 2] = block_half(block + 80);
            reinterpret_cast<std::uint16_t*>(to.super)[place.super * 2 + 1] = block_half(block + 82);
        }
    }
};

template <>
struct Units<WeightFormat::Q2_K> : PairUnits {
    struct Raw {
        uint4 quants[2];
        uint4 super;
        uint2 scales;
    };
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        load_quants(raw.quants, w, group, unit);
        raw.super = stream16(w.super + super_index(w, group, unit) * 16);
        raw.scales = stream8(w.scales + unit_index(w, group, unit) * 8);
        return raw;
    }
    __device__ static int quants(const Raw& raw, int j, int n, int i) {
        return static_cast<int>(pairs(raw, j, n, i));
    }
    __device__ static float scale(const Raw& raw, int j, int n) {
        return floats_of(word(raw.super, j)).x *
               unsigned_byte(word(raw.scales, j / 2) & 0x0f0f0f0fu, j % 2 * 2 + n);
    }
    __device__ static float offset(const Raw& raw, int j, int n) {
        return floats_of(word(raw.super, j)).y *
               unsigned_byte(word(raw.scales, j / 2) >> 4 & 0x0f0f0f0fu, j % 2 * 2 + n);
    }
};

template <>
struct RowUnit<WeightFormat::Q2_K> {
    struct Raw {
        uint2 quants;
        __half2 d;
        uchar2 scales;
    };
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        const RowIndex index(w, row, unit);
        return {pairs_at(w, index), reinterpret_cast<const __half2*>(w.super)[index.super],
                reinterpret_cast<const uchar2*>(w.scales)[index.unit]};
    }
    __device__ __forceinline__ static ScaleAndMin scale_and_min(const Raw& raw, int q) {
        const float2 d = __half22float2(raw.d);
        const int both = q < 2 ? raw.scales.x : raw.scales.y;
        return {d.x * static_cast<float>(both & 15), d.y * static_cast<float>(both >> 4)};
    }
    __device__ __forceinline__ static auto bytes(const Raw& raw) {
        return [&](int n, int i) { return two_low_bits(word(raw.quants, i / 2), n, i); };
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        eight_above_min(scale_and_min(raw, q), q, bytes(raw), out);
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        return halves_above_min<2>(scale_and_min(raw, q), q, bytes(raw));
    }
};

}  // namespace voltpile::llm
