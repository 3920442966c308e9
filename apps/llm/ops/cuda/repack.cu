#include <cuda_fp16.h>

#include "device/launch.cuh"
#include "llm/model/weight_format.h"
#include "llm/ops/cuda/grids/blocks.h"
#include "llm/ops/cuda/repack.h"
#include "llm/ops/cuda/repack_places.cuh"

namespace voltpile::llm {

namespace {

__global__ void repack_q8_0(const std::uint8_t* blocks, Planes to) {
    const ThreadUnit mine(to);
    if (!mine.there) return;
    const std::uint8_t* block = blocks + mine.index * 34;
    std::uint8_t* quants = to.quants + static_cast<std::int64_t>(mine.row) * to.columns + mine.unit * 32;
    for (int i = 0; i < 32; ++i) quants[i] = block[2 + i];
    reinterpret_cast<std::uint16_t*>(to.scales)[mine.place.unit] = block_half(block);
}

__global__ void repack_q4_0(const std::uint8_t* blocks, Planes to) {
    const ThreadUnit mine(to);
    if (!mine.there) return;
    const std::uint8_t* block = blocks + mine.index * 18;
    const Place& place = mine.place;
    for (int i = 0; i < 16; ++i) place.quants[i] = block[2 + i];
    reinterpret_cast<std::uint16_t*>(to.scales)[place.unit] = block_half(block);
}

// Writes the 16 bytes of nibbles of a unit of codes, as files have them, in the order of look_up().
__device__ void put_codes(const std::uint8_t* nibbles, std::uint8_t* quants) {
    for (int i = 0; i < 16; i += 2) {
        const int first = nibbles[i], second = nibbles[i + 1];
        std::uint8_t* word = quants + i / 4 * 4 + i % 4 / 2;
        word[0] = static_cast<std::uint8_t>((first & 15) | (second & 15) << 4);
        word[2] = static_cast<std::uint8_t>(first >> 4 | (second >> 4) << 4);
    }
}

// MXFP4 blocks: exponent, 16 bytes of nibbles.
__global__ void repack_mxfp4(const std::uint8_t* blocks, Planes to) {
    const ThreadUnit mine(to);
    if (!mine.there) return;
    const std::uint8_t* block = blocks + mine.index * 17;
    const Place& place = mine.place;
    put_codes(block + 1, place.quants);
    to.scales[place.unit] = block[0];
}

// IQ4_NL blocks: d, 16 bytes of nibbles.
__global__ void repack_iq4_nl(const std::uint8_t* blocks, Planes to) {
    const ThreadUnit mine(to);
    if (!mine.there) return;
    const std::uint8_t* block = blocks + mine.index * 18;
    const Place& place = mine.place;
    put_codes(block + 2, place.quants);
    reinterpret_cast<std::uint16_t*>(to.scales)[place.unit] = block_half(block);
}

// IQ4_XS blocks: d, 8 pairs of high bits of scales, 8 nibbles with their low bits, 8 times 16 bytes of
// nibbles.
__global__ void repack_iq4_xs(const std::uint8_t* blocks, Planes to) {
    const ThreadUnit mine(to);
    if (!mine.there) return;
    const int part = mine.part;
    const std::uint8_t* block = blocks + mine.index / 8 * 136;
    const Place& place = mine.place;
    put_codes(block + 8 + 16 * part, place.quants);
    const int low = block[4 + part / 2] >> (part % 2 * 4) & 15,
              high = block_half(block + 2) >> (2 * part) & 3;
    to.scales[place.unit] = static_cast<std::uint8_t>((low | high << 4) - 32);
    if (part == 0) reinterpret_cast<std::uint16_t*>(to.super)[place.super] = block_half(block);
}

// Returns a word of a unit's bits for planes of one bit of each weight (matrix.h). bits: bit `part` of byte t
// is that of weight t.
__device__ std::uint32_t plane_of_bits(const std::uint8_t* bits, int part) {
    std::uint32_t word = 0;
    for (int t = 0; t < 32; ++t)
        word |= static_cast<std::uint32_t>(bits[t] >> part & 1) << (8 * (t % 4) + 2 * (t % 16 / 4) + t / 16);
    return word;
}
// Writes two words of a unit's bits for planes of two bits of each weight. pairs: bits 2 quarter and 2
// quarter + 1 of byte t are those of weight t.
__device__ void put_pairs(const std::uint8_t* pairs, int quarter, std::uint8_t* to) {
    std::uint32_t word[2] = {0, 0};
    for (int t = 0; t < 32; ++t) {
        const int n = t / 16, i = t % 16 / 4;
        word[i / 2] |= static_cast<std::uint32_t>(pairs[t] >> (2 * quarter) & 3)
                       << (8 * (t % 4) + 4 * (i % 2) + 2 * n);
    }
    reinterpret_cast<std::uint32_t*>(to)[0] = word[0];
    reinterpret_cast<std::uint32_t*>(to)[1] = word[1];
}

// Q5_1 blocks: d, m, a word of fifth bits, 16 bytes of nibbles.
__global__ void repack_q5_1(const std::uint8_t* blocks, Planes to) {
    const ThreadUnit mine(to);
    if (!mine.there) return;
    const std::uint8_t* block = blocks + mine.index * 24;
    const Place& place = mine.place;
    std::uint8_t fifth[32];
    for (int i = 0; i < 16; ++i) place.quants[i] = block[8 + i];
    for (int t = 0; t < 32; ++t) fifth[t] = block[4 + t / 8] >> t % 8 & 1;
    reinterpret_cast<std::uint32_t*>(to.high)[place.unit] = plane_of_bits(fifth, 0);
    for (int i = 0; i < 2; ++i)
        reinterpret_cast<std::uint16_t*>(to.scales)[place.unit * 2 + i] = block_half(block + 2 * i);
}

// Q4_K blocks: d, dmin, 12 bytes of 6-bit scales, 128 bytes of nibbles. Q5_K: 32 bytes of fifth bits before
// the nibbles.
template <bool five_bits>
__global__ void repack_q4_k(const std::uint8_t* blocks, Planes to) {
    const ThreadUnit mine(to);
    if (!mine.there) return;
    const int part = mine.part;
    const std::uint8_t* block = blocks + mine.index / 8 * (five_bits ? 176 : 144);
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

// Q6_K blocks: 128 bytes of low nibbles, 64 bytes of high bit pairs, 16 int8 scales, d; two halves of 128
// weights.
__global__ void repack_q6_k(const std::uint8_t* blocks, Planes to) {
    const ThreadUnit mine(to);
    if (!mine.there) return;
    const int part = mine.part, half = part / 4, quarter = part % 4;
    const std::uint8_t* block = blocks + mine.index / 8 * 210;
    const std::uint8_t* low = block + 64 * half + 32 * (quarter % 2);
    const std::uint8_t* pairs = block + 128 + 32 * half;
    const int shift = quarter / 2 * 4;
    const Place& place = mine.place;

    for (int i = 0; i < 16; ++i) {
        const int first = low[i] >> shift & 15, second = low[16 + i] >> shift & 15;
        place.quants[i] = static_cast<std::uint8_t>(first | second << 4);
    }
    put_pairs(pairs, quarter, to.high + place.unit * 8);
    to.scales[place.unit * 2] = block[192 + 2 * part];
    to.scales[place.unit * 2 + 1] = block[192 + 2 * part + 1];
    if (part == 0) reinterpret_cast<std::uint16_t*>(to.super)[place.super] = block_half(block + 208);
}

// Q3_K blocks: 32 bytes of third bits, 64 bytes of low bit pairs, 12 bytes with low nibbles and high pairs of
// scales, d; two halves of 128 weights.
__global__ void repack_q3_k(const std::uint8_t* blocks, Planes to) {
    const ThreadUnit mine(to);
    if (!mine.there) return;
    const int part = mine.part;
    const std::uint8_t* block = blocks + mine.index / 8 * 110;
    const std::uint8_t* packed = block + 96;
    const Place& place = mine.place;

    put_pairs(block + 32 + 32 * (part / 4), part % 4, to.quants + place.unit * 8);
    reinterpret_cast<std::uint32_t*>(to.high)[place.unit] = plane_of_bits(block, part);
    for (int n = 0; n < 2; ++n) {
        const int k = 2 * part + n;
        const int low = k < 8 ? packed[k] & 15 : packed[k - 8] >> 4,
                  high = packed[8 + k % 4] >> (k / 4 * 2) & 3;
        to.scales[place.unit * 2 + n] = static_cast<std::uint8_t>((low | high << 4) - 32);
    }
    if (part == 0) reinterpret_cast<std::uint16_t*>(to.super)[place.super] = block_half(block + 108);
}

// Q2_K blocks: 16 bytes with a scale and a minimum of 4 bits, 64 bytes of bit pairs, d, dmin; two halves of
// 128 weights.
__global__ void repack_q2_k(const std::uint8_t* blocks, Planes to) {
    const ThreadUnit mine(to);
    if (!mine.there) return;
    const int part = mine.part;
    const std::uint8_t* block = blocks + mine.index / 8 * 84;
    const Place& place = mine.place;

    put_pairs(block + 16 + 32 * (part / 4), part % 4, to.quants + place.unit * 8);
    to.scales[place.unit * 2] = block[2 * part];
    to.scales[place.unit * 2 + 1] = block[2 * part + 1];
    if (part == 0) {
        reinterpret_cast<std::uint16_t*>(to.super)[place.super * 2] = block_half(block + 80);
        reinterpret_cast<std::uint16_t*>(to.super)[place.super * 2 + 1] = block_half(block + 82);
    }
}

// IQ2 and IQ3. Their blocks begin with d.
template <WeightFormat format>
struct GridBlock {
    static constexpr int bytes = block_bytes(format);
    static constexpr int words = gpu_layout(format) == WeightFormat::IQ3_S ? 2 : 1;  // of indices of a unit
};
template <WeightFormat format>
__global__ void repack_grid(const std::uint8_t* blocks, Planes to) {
    const ThreadUnit mine(to);
    if (!mine.there) return;
    const std::uint8_t* block = blocks + mine.index / 8 * GridBlock<format>::bytes;
    const Place& place = mine.place;
    const GridUnit unit = grid_unit<format>(block, mine.part);
    constexpr int words = GridBlock<format>::words;
    for (int i = 0; i < words; ++i)
        reinterpret_cast<std::uint32_t*>(to.quants)[place.unit * words + i] = unit.indices[i];
    reinterpret_cast<std::uint32_t*>(to.high)[place.unit] = unit.signs;
    reinterpret_cast<std::uint16_t*>(to.scales)[place.unit] = unit.rest;
    if (mine.part == 0) reinterpret_cast<std::uint16_t*>(to.super)[place.super] = block_half(block);
}

__device__ __half to_half(float v) {
    return __float2half_rn(v);
}
__device__ __half to_half(__half v) {
    return v;
}
struct BrainFloat {
    std::uint16_t bits;
};
__device__ __half to_half(BrainFloat v) {
    return __float2half_rn(__uint_as_float(static_cast<std::uint32_t>(v.bits) << 16));
}

template <class T>
__global__ void repack_float(const T* values, Planes to, int columns) {
    const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (index >= static_cast<std::int64_t>(to.rows) * columns) return;
    const std::int64_t row = to.first_row + index / columns;
    reinterpret_cast<__half*>(to.quants)[row * to.columns + index % columns] = to_half(values[index]);
}

}  // namespace

void repack_rows(const DeviceMatrix& matrix, WeightFormat format, const std::uint8_t* blocks, int first_row,
                 int rows, int columns, const Stream& stream) {
    const Planes to{const_cast<std::uint8_t*>(matrix.quants),
                    const_cast<std::uint8_t*>(matrix.high),
                    const_cast<std::uint8_t*>(matrix.scales),
                    const_cast<std::uint8_t*>(matrix.super),
                    matrix.columns,
                    first_row,
                    rows};
    const bool quantized = block_size(format) > 1;
    const std::int64_t items = static_cast<std::int64_t>(rows) * (quantized ? matrix.columns / 32 : columns);
    const LaunchShape shape{static_cast<int>((items + 255) / 256), 256};
    const auto start = [&](auto kernel) { launch("repacking weights", kernel, shape, stream, blocks, to); };
    switch (format) {
        case WeightFormat::Q8_0:
            return start(repack_q8_0);
        case WeightFormat::Q4_0:
            return start(repack_q4_0);
        case WeightFormat::MXFP4:
            return start(repack_mxfp4);
        case WeightFormat::IQ4_NL:
            return start(repack_iq4_nl);
        case WeightFormat::IQ4_XS:
            return start(repack_iq4_xs);
        case WeightFormat::Q4_K:
            return start(repack_q4_k<false>);
        case WeightFormat::Q5_K:
            return start(repack_q4_k<true>);
        case WeightFormat::Q6_K:
            return start(repack_q6_k);
        case WeightFormat::Q3_K:
            return start(repack_q3_k);
        case WeightFormat::Q2_K:
            return start(repack_q2_k);
        case WeightFormat::Q5_1:
            return start(repack_q5_1);
        case WeightFormat::IQ2_XXS:
            return start(repack_grid<WeightFormat::IQ2_XXS>);
        case WeightFormat::IQ2_XS:
            return start(repack_grid<WeightFormat::IQ2_XS>);
        case WeightFormat::IQ2_S:
            return start(repack_grid<WeightFormat::IQ2_S>);
        case WeightFormat::IQ3_XXS:
            return start(repack_grid<WeightFormat::IQ3_XXS>);
        case WeightFormat::IQ3_S:
            return start(repack_grid<WeightFormat::IQ3_S>);
        case WeightFormat::F32:
            return launch("repacking weights", repack_float<float>, shape, stream,
                          reinterpret_cast<const float*>(blocks), to, columns);
        case WeightFormat::BF16:
            return launch("repacking weights", repack_float<BrainFloat>, shape, stream,
                          reinterpret_cast<const BrainFloat*>(blocks), to, columns);
        default:  // F16
            return launch("repacking weights", repack_float<__half>, shape, stream,
                          reinterpret_cast<const __half*>(blocks), to, columns);
    }
}

}  // namespace voltpile::llm
