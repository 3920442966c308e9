// Q4_K on GPUs. Planes (matrix.h): quants has nibbles, scales a uint8 scale and minimum at (gu * 4 + j) * 2,
// super fp16 d and dmin at (gs * 4 + j) * 2.
#pragma once

#include "llm/ops/cuda/repack.cuh"
#include "llm/ops/cuda/row_units.cuh"

namespace voltpile::llm {

// Q4_K blocks: d, dmin, 12 bytes of 6-bit scales, 128 bytes of nibbles. Q5_K: 32 bytes of fifth bits before
// the nibbles.
template <bool five_bits>
struct KBlock {
    static constexpr int bytes = bytes_of_block<(five_bits ? WeightFormat::Q5_K : WeightFormat::Q4_K)>;
    __device__ static void repack(const std::uint8_t* blocks, const ThreadUnit& mine, const Planes& to) {
        const int part = mine.part;
        const std::uint8_t* block = blocks + mine.index / 8 * bytes;
        const std::uint8_t* packed = block + 4;
        const std::uint8_t* fifth = block + 16;
        const std::uint8_t* nibbles = block + (five_bits ? 48 : 16) + part / 2 * 32;
        const int shift = part % 2 * 4;
        const Place& place = mine.place;

        for (int i = 0; i < 16; ++i) {
            const int low = nibbles[i] >> shift & 15, high = nibbles[16 + i] >> shift & 15;
            place.quants[i] = static_cast<std::uint8_t>(low | high << 4);
        }
        if (five_bits) reinterpret_cast<std::uint32_t*>(to.high)[place.unit] = plane_of_bits(fifth, part);
        int scale = 0, min = 0;
        if (part < 4) {
            scale = packed[part] & 63;
            min = packed[4 + part] & 63;
        } else {
            const int both = packed[4 + part];
            scale = (both & 15) | packed[part - 4] >> 6 << 4;
            min = both >> 4 | packed[part] >> 6 << 4;
        }
        to.scales[place.unit * 2] = static_cast<std::uint8_t>(scale);
        to.scales[place.unit * 2 + 1] = static_cast<std::uint8_t>(min);
        if (part == 0) {
            reinterpret_cast<std::uint16_t*>(to.super)[place.super * 2] = block_half(block);
            reinterpret_cast<std::uint16_t*>(to.super)[place.super * 2 + 1] = block_half(block + 2);
        }
    }
};

template <>
struct FileBlock<WeightFormat::Q4_K> : KBlock<false> {};

template <>
struct Units<WeightFormat::Q4_K> : NibbleUnits {
    struct Raw {
        uint4 quants[4];
        uint4 super;
        uint2 scales;
    };
    template <class R>
    __device__ static void load_common(R& raw, const DeviceMatrix& w, int group, int unit) {
        load_quants(raw.quants, w, group, unit);
        raw.super = stream16(w.super + super_index(w, group, unit) * 16);
        raw.scales = stream8(w.scales + unit_index(w, group, unit) * 8);
    }
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        load_common(raw, w, group, unit);
        return raw;
    }
    __device__ static int quants(const Raw& raw, int j, int n, int i) {
        return static_cast<int>(low_bits(raw.quants[j], n, i));
    }
    template <class R>
    __device__ static float scale(const R& raw, int j, int) {
        return floats_of(word(raw.super, j)).x *
               static_cast<float>(byte_of(word(raw.scales, j / 2), j % 2 * 2));
    }
    template <class R>
    __device__ static float offset(const R& raw, int j, int) {
        return floats_of(word(raw.super, j)).y *
               static_cast<float>(byte_of(word(raw.scales, j / 2), j % 2 * 2 + 1));
    }
};

template <>
struct RowUnit<WeightFormat::Q4_K> {
    struct Raw {
        uint4 quants;
        __half2 d;
        uchar2 scales;
    };
    template <class R>
    __device__ static void load_common(R& raw, const DeviceMatrix& w, int row, int unit) {
        const RowIndex index(w, row, unit);
        raw.quants = quants_at(w, row, unit);
        raw.d = reinterpret_cast<const __half2*>(w.super)[index.super];
        raw.scales = reinterpret_cast<const uchar2*>(w.scales)[index.unit];
    }
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        Raw raw;
        load_common(raw, w, row, unit);
        return raw;
    }
    template <class R>
    __device__ __forceinline__ static ScaleAndMin scale_and_min(const R& raw) {
        const float2 d = __half22float2(raw.d);
        return {d.x * static_cast<float>(raw.scales.x), d.y * static_cast<float>(raw.scales.y)};
    }
    __device__ __forceinline__ static auto bytes(const Raw& raw) {
        return [&](int n, int i) { return low_bits(raw.quants, n, i); };
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        eight_above_min(scale_and_min(raw), q, bytes(raw), out);
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        return halves_above_min<8>(scale_and_min(raw), q, bytes(raw));
    }
};

}  // namespace voltpile::llm
