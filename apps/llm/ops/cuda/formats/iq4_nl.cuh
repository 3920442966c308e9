// IQ4_NL on GPUs. Planes (matrix.h): quants has codes, scales fp16 at gu * 4 + j.
#pragma once

#include "llm/ops/cuda/repack.cuh"
#include "llm/ops/cuda/row_units.cuh"

namespace voltpile::llm {

// IQ4_NL blocks: d, 16 bytes of nibbles.
template <>
struct FileBlock<WeightFormat::IQ4_NL> {
    __device__ static void repack(const std::uint8_t* blocks, const ThreadUnit& mine, const Planes& to) {
        const std::uint8_t* block = blocks + mine.index * bytes_of_block<WeightFormat::IQ4_NL>;
        const Place& place = mine.place;
        put_codes(block + 2, place.quants);
        reinterpret_cast<std::uint16_t*>(to.scales)[place.unit] = block_half(block);
    }
};

template <>
struct Units<WeightFormat::IQ4_NL> : Iq4Units<HalfScaleUnits> {};

template <>
struct RowUnit<WeightFormat::IQ4_NL> : HalfScaleRow {
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        eight_of_bytes<128>(__half2float(raw.d), q, iq4_bytes(raw.quants), out);
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        return halves_of_bytes<128>(raw.d, q, iq4_bytes(raw.quants));
    }
};

}  // namespace voltpile::llm
