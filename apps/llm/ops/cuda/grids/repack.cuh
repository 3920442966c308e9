// Repacks blocks of IQ2 and IQ3.
#pragma once

#include "llm/ops/cuda/grids/blocks.h"
#include "llm/ops/cuda/repack.cuh"

namespace voltpile::llm {

// Their blocks begin with d.
template <WeightFormat format>
struct GridBlock {
    static constexpr int words = gpu_layout(format) == WeightFormat::IQ3_S ? 2 : 1;  // of indices of a unit
    __device__ static void repack(const std::uint8_t* blocks, const ThreadUnit& mine, const Planes& to) {
        const std::uint8_t* block = blocks + mine.index / 8 * bytes_of_block<format>;
        const Place& place = mine.place;
        const GridUnit unit = grid_unit<format>(block, mine.part);
        for (int i = 0; i < words; ++i)
            reinterpret_cast<std::uint32_t*>(to.quants)[place.unit * words + i] = unit.indices[i];
        reinterpret_cast<std::uint32_t*>(to.high)[place.unit] = unit.signs;
        reinterpret_cast<std::uint16_t*>(to.scales)[place.unit] = unit.rest;
        if (mine.part == 0) reinterpret_cast<std::uint16_t*>(to.super)[place.super] = block_half(block);
    }
};

}  // namespace voltpile::llm
