// Weights of any format as integers for the products of int8_product.cuh.
#pragma once

#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/grids/table.cuh"
#include "llm/ops/cuda/row_units.cuh"
#include "llm/ops/cuda/sm90/int8_bytes.cuh"
#include "llm/ops/cuda/sm90/int8_shape.h"
#include "llm/ops/cuda/sm90/warpgroup.cuh"
#include "llm/ops/cuda/tiles.cuh"

namespace voltpile::llm {

constexpr int rounding_threads = 256;

// Returns the largest magnitude that one of the four threads of a step has. They are compared as bits, of
// which those of NaN are the largest.
__device__ __forceinline__ float largest_of_step(float magnitude) {
    std::uint32_t bits = __float_as_uint(magnitude) & 0x7fffffff;
#pragma unroll
    for (int i = 1; i < 4; i *= 2) bits = max(bits, __shfl_xor_sync(0xffffffffu, bits, i));
    return __uint_as_float(bits);
}

// Rounds a thread's unit of Q8_0 to word and returns the scale. Adding 1.5 * 2^10 to fp16 leaves the integer
// in the low bits.
template <class Raw>
__device__ __forceinline__ float round_integers(const Raw& raw, std::uint32_t (&word)[8]) {
    __half2 whole[8][2];
    std::uint32_t magnitudes = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        bytes_minus<128>(::voltpile::llm::word(raw.quants[i / 4], i % 4) ^ 0x80808080u, whole[i]);
#pragma unroll
        for (const __half2& two : whole[i])
            magnitudes =
                __vmaxu2(magnitudes, reinterpret_cast<const std::uint32_t&>(two) & magnitudes_of_two);
    }
    const float d = __half2float(raw.d), scale = largest_of_step(d * half_of(larger_of(magnitudes))) / 127;
    const __half2 quotient = __float2half2_rn(scale > 0 ? d / scale : 0), middle = __float2half2_rn(1536);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const __half2 low = __hfma2(whole[i][0], quotient, middle),
                      high = __hfma2(whole[i][1], quotient, middle);
        word[i] = __byte_perm(reinterpret_cast<const std::uint32_t&>(low),
                              reinterpret_cast<const std::uint32_t&>(high), 0x6420);
    }
    return scale;
}

// The same for any format. The scale is not finite if a weight is not. All threads of a warp call it.
template <WeightFormat format>
__device__ __forceinline__ float round_unit(const typename RowUnit<format>::Raw& raw,
                                            std::uint32_t (&word)[8]) {
    if constexpr (format == WeightFormat::Q8_0) {
        return round_integers(raw, word);
    } else {
        uint4 halves[4];
        std::uint32_t magnitudes = 0;
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            halves[q] = RowUnit<format>::halves(raw, q);
#pragma unroll
            for (int i = 0; i < 4; ++i)
                magnitudes = __vmaxu2(magnitudes, ::voltpile::llm::word(halves[q], i) & magnitudes_of_two);
        }
        const float scale = largest_of_step(half_of(larger_of(magnitudes))) / 127,
                    inverse = scale > 0 ? 1 / scale : 0;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const float2 a = floats_of(::voltpile::llm::word(halves[i / 2], i % 2 * 2)),
                         b = floats_of(::voltpile::llm::word(halves[i / 2], i % 2 * 2 + 1));
            word[i] = rounded_bytes({a.x, a.y, b.x, b.y}, inverse);
        }
        return scale;
    }
}

// See launch_int8_weights_of(). A thread has a unit of 32 columns of a row, four threads a step. Grid:
// (blocks of a row's units, rows of a tile, tiles).
template <WeightFormat format, bool gated>
__global__ void __launch_bounds__(rounding_threads)
    int8_weights(const __grid_constant__ TileArgs args, Int8Weights* to) {
    let_next_kernel_begin();
    bring_grid<format>(args.matmul.matrix[0].format);
    const int unit = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), step = unit / 4;
    const int row = static_cast<int>(blockIdx.y), tile = static_cast<int>(blockIdx.z);
    const TilePlace place = place_of<gated, Int8Shape::weights>(args, tile);
    const bool of_up = gated && row % 16 >= 8;
    const int of_matrix = place.first_row + (gated ? row / 16 * 8 + row % 8 : row);
    DeviceMatrix w = place.weights;
    if (of_up) {  // one by one: a choice of two structs would put both into local memory
        w.quants = place.up.quants;
        w.high = place.up.high;
        w.scales = place.up.scales;
        w.super = place.up.super;
    }
    typename RowUnit<format>::Raw raw{};  // zeros where there are no weights
    if (of_matrix < w.rows && unit < w.columns / 32) raw = RowUnit<format>::load(w, of_matrix, unit);
    std::uint32_t word[8];
    const float scale = round_unit<format>(raw, word);
    // Of a pair of threads, one writes the first two of their four pieces, and one the last two, so that a
    // store covers whole sectors of 32 bytes.
    const bool odd = unit % 2 == 1;
    uint4 piece[2];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const std::uint32_t other = __shfl_xor_sync(0xffffffffu, odd ? word[i] : word[4 + i], 1);
        reinterpret_cast<std::uint32_t*>(&piece[0])[i] = odd ? other : word[i];
        reinterpret_cast<std::uint32_t*>(&piece[1])[i] = odd ? word[4 + i] : other;
    }
    wait_for_earlier_kernels();
    if (step >= args.steps) return;
    Int8Weights& out = to[static_cast<std::int64_t>(tile) * args.steps + step];
#pragma unroll
    for (int n = 0; n < 2; ++n) {
        const int first = unit % 4 / 2 * 4 + n * 2;  // of the pair's pieces
        *reinterpret_cast<uint4*>(&out.q[row][swizzled(row, first + (odd ? 1 : 0)) * 16]) = piece[n];
    }
    if (unit % 4 == 0) out.scale[row] = scale;
}

template <WeightFormat format>
void launch_int8_weights_of(const TileArgs& args, Int8Weights* to, const Stream& stream) {
    // As many threads as a row has units, if few.
    const int units = args.steps * 4, blocks = (units + rounding_threads - 1) / rounding_threads;
    const int threads = ((units + blocks - 1) / blocks + 31) / 32 * 32;
    launch_early("rounding weights",
                 args.matmul.gated ? int8_weights<format, true> : int8_weights<format, false>,
                 {blocks, threads, 0, Int8Shape::weights, args.tiles}, stream, args, to);
}

}  // namespace voltpile::llm
