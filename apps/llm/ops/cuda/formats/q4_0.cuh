// Q4_0 on GPUs. Planes (matrix.h): quants has nibbles, scales fp16 at gu * 4 + j.
#pragma once

#include "llm/ops/cuda/repack.cuh"
#include "llm/ops/cuda/row_units.cuh"

namespace voltpile::llm {

template <>
struct FileBlock<WeightFormat::Q4_0> {
    __device__ static void repack(const std::uint8_t* blocks, const ThreadUnit& mine, const Planes& to) {
        const std::uint8_t* block = blocks + mine.index * bytes_of_block<WeightFormat::Q4_0>;
        const Place& place = mine.place;
        for (int i = 0; i < 16; ++i) place.quants[i] = block[2 + i];
        reinterpret_cast<std::uint16_t*>(to.scales)[place.unit] = block_half(block);
    }
};

template <>
struct Units<WeightFormat::Q4_0> : HalfScaleUnits {
    static constexpr int zero = 8;
    __device__ static int quants(const Raw& raw, int j, int n, int i) {
        return static_cast<int>(low_bits(raw.quants[j], n, i));
    }
};

template <>
struct RowUnit<WeightFormat::Q4_0> : HalfScaleRow {
    __device__ __forceinline__ static auto bytes(const Raw& raw) {
        return [&](int n, int i) { return low_bits(raw.quants, n, i); };
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        eight_of_bytes<8>(__half2float(raw.d), q, bytes(raw), out);
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        return halves_of_bytes<8>(raw.d, q, bytes(raw));
    }
};

}  // namespace voltpile::llm
