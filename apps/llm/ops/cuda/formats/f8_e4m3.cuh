// F8_E4M3 on GPUs: floats of 8 bits (model/float8.h) and an fp32 scale for 64 of them. Planes (matrix.h):
// quants has the floats as int8 planes have integers, scales fp32 at
// (group * (columns / 64) + unit / 2) * 4 + j.
//
// All products take the floats as fp16 numbers, which are 2^-8 of them, exactly. Matrix-vector products take
// x in fp16 and sum in fp32. Where weights become fp16, 2^8 times the scale is rounded before their product
// is.
#pragma once

#include "llm/ops/cuda/repack.cuh"
#include "llm/ops/cuda/row_units.cuh"
#include "llm/ops/cuda/unit_product.cuh"

namespace voltpile::llm {

// Returns floats 2 p and 2 p + 1 of a word as two fp16 numbers, 2^-8 of them. Each float and the repetition
// of its sign become 16 bits. 7 places higher these begin with the sign twice, of which one is cleared.
template <int p>
__device__ __forceinline__ std::uint32_t halves_of_float8(std::uint32_t four) {
    constexpr std::uint32_t repeats_sign = 8, first = 2 * p, second = 2 * p + 1;
    constexpr std::uint32_t choice =
        first | (repeats_sign | first) << 4 | second << 8 | (repeats_sign | second) << 12;
    std::uint32_t two;
    asm("prmt.b32 %0, %1, 0, %2;" : "=r"(two) : "r"(four), "n"(choice));
    return two << 7 & 0xbf80bf80u;
}

// F8_E4M3 blocks: d, 64 bytes. A block has two units.
template <>
struct FileBlock<WeightFormat::F8_E4M3> {
    __device__ static void repack(const std::uint8_t* blocks, const ThreadUnit& mine, const Planes& to) {
        const std::uint8_t* block = blocks + mine.index / 2 * bytes_of_block<WeightFormat::F8_E4M3>;
        const int part = mine.unit % 2;
        std::uint8_t* quants = to.quants + static_cast<std::int64_t>(mine.row) * to.columns + mine.unit * 32;
        for (int i = 0; i < 32; ++i) quants[i] = block[4 + 32 * part + i];
        const std::int64_t group = mine.row / 4;
        const std::int64_t place = (group * (to.columns / 64) + mine.unit / 2) * 4 + mine.row % 4;
        if (part == 0) reinterpret_cast<std::uint32_t*>(to.scales)[place] = block_word(block);
    }
};

template <>
struct UnitProduct<WeightFormat::F8_E4M3> {
    struct Raw {
        uint4 quants[4];
        uint4 scales;
    };
    static constexpr int weights = 16;

    template <int R>
    __device__ __forceinline__ static void add(float (&sum)[4 * R], const Raw& raw, const std::uint8_t* x,
                                               int columns, int unit, int rows) {
        float part[4 * R] = {};
#pragma unroll
        for (int n = 0; n < 2; ++n) {
            float2 w[4][4];
#pragma unroll
            for (int j = 0; j < 4; ++j) {
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    const std::uint32_t four = word(raw.quants[j], 2 * n + i);
                    w[j][2 * i] = floats_of(halves_of_float8<0>(four));
                    w[j][2 * i + 1] = floats_of(halves_of_float8<1>(four));
                }
            }
#pragma unroll
            for (int r = 0; r < R; ++r) {
                // Rows beyond the last repeat it.
                const std::int64_t row = min(r, rows - 1);
                const uint4 values = reinterpret_cast<const uint4*>(x + row * columns * 2)[2 * unit + n];
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const float2 v = floats_of(word(values, i));
#pragma unroll
                    for (int j = 0; j < 4; ++j) {
                        part[j * R + r] = fmaf(w[j][i].x, v.x, part[j * R + r]);
                        part[j * R + r] = fmaf(w[j][i].y, v.y, part[j * R + r]);
                    }
                }
            }
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float scale = 256 * __uint_as_float(word(raw.scales, j));
#pragma unroll
            for (int r = 0; r < R; ++r) sum[j * R + r] = fmaf(scale, part[j * R + r], sum[j * R + r]);
        }
    }
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        const std::uint8_t* from = w.quants + static_cast<std::int64_t>(group) * 4 * w.columns + unit * 16;
#pragma unroll
        for (int j = 0; j < 4; ++j) raw.quants[j] = stream16(from + static_cast<std::int64_t>(j) * w.columns);
        raw.scales =
            stream16(w.scales + (static_cast<std::int64_t>(group) * (w.columns / 64) + unit / 4) * 16);
        return raw;
    }
};

template <>
struct RowUnit<WeightFormat::F8_E4M3> {
    struct Raw {
        uint4 quants[2];
        float d;
    };
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        Raw raw;
        const auto* from =
            reinterpret_cast<const uint4*>(w.quants + static_cast<std::int64_t>(row) * w.columns + unit * 32);
        raw.quants[0] = from[0];
        raw.quants[1] = from[1];
        const std::int64_t block = static_cast<std::int64_t>(row / 4) * (w.columns / 64) + unit / 2;
        raw.d = reinterpret_cast<const float*>(w.scales)[block * 4 + row % 4];
        return raw;
    }
    __device__ __forceinline__ static uint4 small_halves(const Raw& raw, int q) {
        const std::uint32_t first = word(raw.quants[q / 2], q % 2 * 2);
        const std::uint32_t second = word(raw.quants[q / 2], q % 2 * 2 + 1);
        return make_uint4(halves_of_float8<0>(first), halves_of_float8<1>(first), halves_of_float8<0>(second),
                          halves_of_float8<1>(second));
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        const uint4 small = small_halves(raw, q);
        const float scale = 256 * raw.d;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float2 two = floats_of(word(small, i));
            out[2 * i] = scale * two.x;
            out[2 * i + 1] = scale * two.y;
        }
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        uint4 out = small_halves(raw, q);
        const __half2 scale = __float2half2_rn(256 * raw.d);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            auto& two = reinterpret_cast<__half2*>(&out)[i];
            two = __hmul2(two, scale);
        }
        return out;
    }
};

}  // namespace voltpile::llm
