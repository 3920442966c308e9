// The grid of a matrix in shared memory. The lanes of a warp look up different words at random. Shared memory
// answers them in about 3.5 cycles, the most words that one of its 32 banks has to give; the L1 cache takes
// a cycle for each line of 128 bytes, about 14, and constant memory one for each lane. A word has 32 bits,
// for 8 weights of IQ1 and IQ2 too: an instruction expands its nibbles, whereas words of 64 bits would use
// two banks each. So a multiprocessor looks up 23 bytes of IQ2 a cycle and 16 of IQ3. The memory of a V100
// sends 7 bytes a cycle to each, that of an H100 14 and that of an H200 20.
#pragma once

#include "llm/model/weight_format_list.h"
#include "llm/ops/cuda/grids/words.h"

namespace voltpile::llm {

// The entries of the largest grid of a layout; 0: it has none.
template <WeightFormat layout>
constexpr int grid_entries = layout == WeightFormat::IQ1_S   ? 2048
                             : layout == WeightFormat::IQ2_S ? 1024
                             : layout == WeightFormat::IQ3_S ? 512
                                                             : 0;
// Bytes of static shared memory.
template <WeightFormat layout>
constexpr int grid_bytes = 4 * grid_entries<layout>;

template <WeightFormat format>
static __device__ const auto grid_in_memory = grid_words<format>();

template <WeightFormat layout>
__device__ __forceinline__ std::uint32_t* shared_grid() {
    __shared__ __align__(16) std::uint32_t words[grid_entries<layout>];
    return words;
}

// Returns the word of a grid at an offset in bytes.
template <WeightFormat layout>
__device__ __forceinline__ std::uint32_t grid_word(std::uint32_t offset) {
    return *reinterpret_cast<const std::uint32_t*>(
        reinterpret_cast<const std::uint8_t*>(shared_grid<layout>()) + offset);
}

template <WeightFormat layout, WeightFormat format>
__device__ __forceinline__ void copy_grid() {
    constexpr unsigned pieces = sizeof grid_in_memory<format> / sizeof(uint4);
    const auto* from = reinterpret_cast<const uint4*>(grid_in_memory<format>.word);
    auto* to = reinterpret_cast<uint4*>(shared_grid<layout>());
    for (unsigned i = threadIdx.x; i < pieces; i += blockDim.x) to[i] = from[i];
}

// Brings the grid of matrices in `format` to shared memory, if their layout has one. All threads of a block
// call this before any of them reads weights.
template <WeightFormat layout>
__device__ __forceinline__ void bring_grid(WeightFormat format) {
    using enum WeightFormat;
    if constexpr (layout == IQ1_S) copy_grid<layout, IQ1_S>();
    if constexpr (layout == IQ2_S) {
        if (format == IQ2_XXS) copy_grid<layout, IQ2_XXS>();
        if (format == IQ2_XS) copy_grid<layout, IQ2_XS>();
        if (format == IQ2_S) copy_grid<layout, IQ2_S>();
    }
    if constexpr (layout == IQ3_S) {
        if (format == IQ3_XXS) copy_grid<layout, IQ3_XXS>();
        if (format == IQ3_S) copy_grid<layout, IQ3_S>();
    }
    if constexpr (grid_bytes<layout> != 0) __syncthreads();
}

// (s + 0.5) / 4, as in IQ1 and IQ2, and (s + 0.5) / 2 for the low 4 bits s of v: they become the low bits of
// a number whose last bit is worth 1/4 or 1/2.
__device__ __forceinline__ float iq2_factor(std::uint32_t v) {
    return __uint_as_float(0x4a000000u | (v & 15)) - 2097151.875f;
}
__device__ __forceinline__ float iq3_factor(std::uint32_t v) {
    return __uint_as_float(0x4a800000u | (v & 15)) - 4194303.75f;
}

}  // namespace voltpile::llm
