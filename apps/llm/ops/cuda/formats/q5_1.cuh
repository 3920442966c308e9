// Q5_1 on GPUs. Planes (matrix.h): quants has nibbles, high the fifth bits, scales an fp16 scale and minimum
// at (gu * 4 + j) * 2.
#pragma once

#include "llm/ops/cuda/repack.cuh"
#include "llm/ops/cuda/row_units.cuh"

namespace voltpile::llm {

// Q5_1 blocks: d, m, a word of fifth bits, 16 bytes of nibbles.
template <>
struct FileBlock<WeightFormat::Q5_1> {
    __device__ static void repack(const std::uint8_t* blocks, const ThreadUnit& mine, const Planes& to) {
        const std::uint8_t* block = blocks + mine.index * bytes_of_block<WeightFormat::Q5_1>;
        const Place& place = mine.place;
        std::uint8_t fifth[32];
        for (int i = 0; i < 16; ++i) place.quants[i] = block[8 + i];
        for (int t = 0; t < 32; ++t) fifth[t] = block[4 + t / 8] >> t % 8 & 1;
        reinterpret_cast<std::uint32_t*>(to.high)[place.unit] = plane_of_bits(fifth, 0);
        for (int i = 0; i < 2; ++i)
            reinterpret_cast<std::uint16_t*>(to.scales)[place.unit * 2 + i] = block_half(block + 2 * i);
    }
};

template <>
struct Units<WeightFormat::Q5_1> : NibbleUnits {
    struct Raw {
        uint4 quants[4];
        uint4 high;
        uint4 scales;
    };
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        load_quants(raw.quants, w, group, unit);
        raw.high = stream16(w.high + unit_index(w, group, unit) * 16);
        raw.scales = stream16(w.scales + unit_index(w, group, unit) * 16);
        return raw;
    }
    __device__ static int quants(const Raw& raw, int j, int n, int i) {
        return static_cast<int>(five_bits_of_all(raw.quants[j], word(raw.high, j), n, i));
    }
    __device__ static float scale(const Raw& raw, int j, int) { return floats_of(word(raw.scales, j)).x; }
    __device__ static float offset(const Raw& raw, int j, int) { return -floats_of(word(raw.scales, j)).y; }
};

template <>
struct RowUnit<WeightFormat::Q5_1> {
    struct Raw {
        uint4 quants;
        std::uint32_t high;
        __half2 scale_and_min;
    };
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        const RowIndex index(w, row, unit);
        return {quants_at(w, row, unit), reinterpret_cast<const std::uint32_t*>(w.high)[index.unit],
                reinterpret_cast<const __half2*>(w.scales)[index.unit]};
    }
    __device__ __forceinline__ static auto bytes(const Raw& raw) {
        return [&](int n, int i) { return low_bits(raw.quants, n, i) | fifth_bits(raw.high, n, i); };
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        const float2 of = __half22float2(raw.scale_and_min);
        eight_above_min({of.x, -of.y}, q, bytes(raw), out);
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        const __half scale = __low2half(raw.scale_and_min), min = __high2half(raw.scale_and_min);
        const uint2 low = scaled_bytes<0>(bytes(raw)(q / 2, q % 2 * 2), scale, min);
        const uint2 high = scaled_bytes<0>(bytes(raw)(q / 2, q % 2 * 2 + 1), scale, min);
        return make_uint4(low.x, low.y, high.x, high.y);
    }
};

}  // namespace voltpile::llm
