// Repacks the blocks of a quantized format into the planes of matrix.h.
#pragma once

#include "device/launch.cuh"
#include "llm/ops/codebooks/block_bits.h"
#include "llm/ops/cuda/repack.h"
#include "llm/ops/cuda/repack_places.cuh"
#include "llm/ops/cuda/with_format.h"

namespace voltpile::llm {

template <WeightFormat format>
constexpr int bytes_of_block = static_cast<int>(info(format).block_bytes);

// FileBlock<format>::repack(blocks, mine, to) writes unit mine.part of a block of a file to the places `mine`
// in planes.
template <WeightFormat>
struct FileBlock;

// Writes the 16 bytes of nibbles of a unit of codes, as files have them, in the order of look_up().
__device__ inline void put_codes(const std::uint8_t* nibbles, std::uint8_t* quants) {
    for (int i = 0; i < 16; i += 2) {
        const int first = nibbles[i], second = nibbles[i + 1];
        std::uint8_t* word = quants + i / 4 * 4 + i % 4 / 2;
        word[0] = static_cast<std::uint8_t>((first & 15) | (second & 15) << 4);
        word[2] = static_cast<std::uint8_t>(first >> 4 | (second >> 4) << 4);
    }
}

// Returns a word of a unit's bits for planes of one bit of each weight (matrix.h). bits: bit `part` of byte t
// is that of weight t.
__device__ inline std::uint32_t plane_of_bits(const std::uint8_t* bits, int part) {
    std::uint32_t word = 0;
    for (int t = 0; t < 32; ++t)
        word |= static_cast<std::uint32_t>(bits[t] >> part & 1) << (8 * (t % 4) + 2 * (t % 16 / 4) + t / 16);
    return word;
}
// Writes two words of a unit's bits for planes of two bits of each weight. pairs: bits 2 quarter and 2
// quarter + 1 of byte t are those of weight t.
__device__ inline void put_pairs(const std::uint8_t* pairs, int quarter, std::uint8_t* to) {
    std::uint32_t word[2] = {0, 0};
    for (int t = 0; t < 32; ++t) {
        const int n = t / 16, i = t % 16 / 4;
        word[i / 2] |= static_cast<std::uint32_t>(pairs[t] >> (2 * quarter) & 3)
                       << (8 * (t % 4) + 4 * (i % 2) + 2 * n);
    }
    reinterpret_cast<std::uint32_t*>(to)[0] = word[0];
    reinterpret_cast<std::uint32_t*>(to)[1] = word[1];
}

template <WeightFormat format>
__global__ void repack(const std::uint8_t* blocks, Planes to) {
    const ThreadUnit mine(to);
    if (!mine.there) return;
    FileBlock<format>::repack(blocks, mine, to);
}

// Of all formats with this layout.
template <WeightFormat layout>
void launch_repack_of(WeightFormat format, const std::uint8_t* blocks, const Planes& to,
                      const Stream& stream) {
    const std::int64_t units = static_cast<std::int64_t>(to.rows) * (to.columns / 32);
    with_format_of_layout<layout>(format, [&](auto of) {
        launch("repacking weights", repack<of.value>, {static_cast<int>((units + 255) / 256), 256}, stream,
               blocks, to);
    });
}

}  // namespace voltpile::llm
