// UINT4 on GPUs. Planes (matrix.h): quants has nibbles, scales an fp16 scale and zero point at
// (gu * 4 + j) * 2.
#pragma once

#include "llm/ops/cuda/repack.cuh"
#include "llm/ops/cuda/row_units.cuh"

namespace voltpile::llm {

// UINT4 blocks: d, z, 16 bytes of nibbles.
template <>
struct FileBlock<WeightFormat::UINT4> {
    __device__ static void repack(const std::uint8_t* blocks, const ThreadUnit& mine, const Planes& to) {
        const std::uint8_t* block = blocks + mine.index * bytes_of_block<WeightFormat::UINT4>;
        const Place& place = mine.place;
        for (int i = 0; i < 16; ++i) place.quants[i] = block[4 + i];
        for (int i = 0; i < 2; ++i)
            reinterpret_cast<std::uint16_t*>(to.scales)[place.unit * 2 + i] = block_half(block + 2 * i);
    }
};

template <>
struct Units<WeightFormat::UINT4> : NibbleUnits {
    struct Raw {
        uint4 quants[4];
        uint4 scales;
    };
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        load_quants(raw.quants, w, group, unit);
        raw.scales = stream16(w.scales + unit_index(w, group, unit) * 16);
        return raw;
    }
    __device__ static int quants(const Raw& raw, int j, int n, int i) {
        return static_cast<int>(low_bits(raw.quants[j], n, i));
    }
    __device__ static float scale(const Raw& raw, int j, int) { return floats_of(word(raw.scales, j)).x; }
    __device__ static float offset(const Raw& raw, int j, int) {
        const float2 of = floats_of(word(raw.scales, j));
        return of.x * of.y;
    }
};

template <>
struct RowUnit<WeightFormat::UINT4> {
    struct Raw {
        uint4 quants;
        __half2 scale_and_zero;
    };
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        return {quants_at(w, row, unit),
                reinterpret_cast<const __half2*>(w.scales)[RowIndex(w, row, unit).unit]};
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        const float2 of = __half22float2(raw.scale_and_zero);
#pragma unroll
        for (int i = 0; i < 8; ++i)
            out[i] = of.x * (unsigned_byte(low_bits(raw.quants, q / 2, q % 2 * 2 + i / 4), i % 4) - of.y);
    }
    // Integers minus zero points are exact: only the product is rounded.
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        const __half2 scale = __low2half2(raw.scale_and_zero), zero = __high2half2(raw.scale_and_zero);
        uint4 out;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            __half2 whole[2];
            bytes_minus<0>(low_bits(raw.quants, q / 2, q % 2 * 2 + i), whole);
#pragma unroll
            for (int p = 0; p < 2; ++p)
                reinterpret_cast<__half2*>(&out)[2 * i + p] = __hmul2(__hsub2(whole[p], zero), scale);
        }
        return out;
    }
};

}  // namespace voltpile::llm
