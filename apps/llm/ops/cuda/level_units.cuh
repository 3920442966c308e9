// Units of NF4 and FP4: 4-bit codes into a table of numbers, the levels, and an fp32 scale for 64 weights.
// Planes (matrix.h): quants has codes, scales fp32 at (group * (columns / 64) + unit / 2) * 4 + j.
//
// Matrix-vector products take levels in fixed point with 16 bits. To fp16, levels and scales are rounded
// before their product is.
#pragma once

#include <bit>

#include "base/half.h"
#include "llm/model/code_levels.h"
#include "llm/ops/cuda/repack.cuh"
#include "llm/ops/cuda/row_units.cuh"

namespace voltpile::llm {

// levels: the table. fixed_one: 1 in fixed point, at most 127 * 256 + 127. half_unit: what levels are divided
// by before they are rounded to fp16.
template <WeightFormat>
struct LevelTable;

// of(code) returns the bytes of a level, from the lowest on.
template <WeightFormat format>
struct FloatLevel {
    static constexpr std::uint32_t of(int code) {
        return std::bit_cast<std::uint32_t>(LevelTable<format>::levels.of_code[code]);
    }
};
template <WeightFormat format>
struct HalfLevel {
    static constexpr std::uint32_t of(int code) {
        return half_from_float(LevelTable<format>::levels.of_code[code] / LevelTable<format>::half_unit);
    }
};
// Two int8: the low one and the high one, which counts 256 times as much.
template <WeightFormat format>
struct FixedLevel {
    static constexpr std::uint32_t of(int code) {
        const float exact = LevelTable<format>::levels.of_code[code] * LevelTable<format>::fixed_one;
        const int fixed = static_cast<int>(exact + (exact < 0 ? -0.5f : 0.5f));
        const int high = (fixed + 128) >> 8;
        return static_cast<std::uint32_t>((high & 255) << 8 | (fixed & 255));
    }
};

// Byte `byte` of the levels of codes 4 part to 4 part + 3.
template <class Level, int byte, int part>
constexpr std::uint32_t table_word = [] {
    std::uint32_t word = 0;
    for (int i = 0; i < 4; ++i) word |= (Level::of(4 * part + i) >> (8 * byte) & 255) << (8 * i);
    return word;
}();
// Returns byte `byte` of the levels of four codes (codes_of()).
template <class Level, int byte>
__device__ __forceinline__ std::uint32_t level_bytes(std::uint32_t codes) {
    constexpr std::uint32_t first = table_word<Level, byte, 0>, second = table_word<Level, byte, 1>,
                            third = table_word<Level, byte, 2>, fourth = table_word<Level, byte, 3>;
    if constexpr ((first | second | third | fourth) == 0) return 0;
    return look_up(codes, first, second, third, fourth);
}

struct FloatScaleBlock {
    __device__ static void repack(const std::uint8_t* blocks, const ThreadUnit& mine, const Planes& to) {
        const std::uint8_t* block = blocks + mine.index / 2 * bytes_of_block<WeightFormat::NF4>;
        static_assert(bytes_of_block<WeightFormat::FP4> == bytes_of_block<WeightFormat::NF4>);
        const int part = mine.unit % 2;
        put_codes(block + 4 + 16 * part, mine.place.quants);
        const std::int64_t group = mine.row / 4;
        const std::int64_t place = (group * (to.columns / 64) + mine.unit / 2) * 4 + mine.row % 4;
        if (part == 0) reinterpret_cast<std::uint32_t*>(to.scales)[place] = block_word(block);
    }
};

template <WeightFormat format>
struct LevelUnits : NibbleUnits {
    struct Raw {
        uint4 quants[4];
        uint4 scales;
    };
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        load_quants(raw.quants, w, group, unit);
        const std::int64_t block = static_cast<std::int64_t>(group) * (w.columns / 64) + unit / 2;
        raw.scales = stream16(w.scales + block * 16);
        return raw;
    }
    __device__ static int quants(const Raw& raw, int j, int n, int i) {
        return static_cast<int>(level_bytes<FixedLevel<format>, 1>(codes_of(raw.quants[j], n, i)));
    }
    __device__ static int fractions(const Raw& raw, int j, int n, int i) {
        return static_cast<int>(level_bytes<FixedLevel<format>, 0>(codes_of(raw.quants[j], n, i)));
    }
    __device__ static float scale(const Raw& raw, int j, int) {
        return __uint_as_float(word(raw.scales, j)) * (256.0f / LevelTable<format>::fixed_one);
    }
};

template <WeightFormat format>
struct LevelRow {
    struct Raw {
        uint4 quants;
        float d;
    };
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        const std::int64_t block = static_cast<std::int64_t>(row / 4) * (w.columns / 64) + unit / 2;
        return {quants_at(w, row, unit), reinterpret_cast<const float*>(w.scales)[block * 4 + row % 4]};
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        using Level = FloatLevel<format>;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const std::uint32_t codes = codes_of(raw.quants, q / 2, q % 2 * 2 + i / 4);
            const std::uint32_t bits = byte_of(level_bytes<Level, 0>(codes), i % 4) |
                                       byte_of(level_bytes<Level, 1>(codes), i % 4) << 8 |
                                       byte_of(level_bytes<Level, 2>(codes), i % 4) << 16 |
                                       byte_of(level_bytes<Level, 3>(codes), i % 4) << 24;
            out[i] = raw.d * __uint_as_float(bits);
        }
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        using Level = HalfLevel<format>;
        const __half2 scale = __half2half2(__float2half_rn(raw.d * LevelTable<format>::half_unit));
        uint4 out;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const std::uint32_t codes = codes_of(raw.quants, q / 2, q % 2 * 2 + i);
            const std::uint32_t low = level_bytes<Level, 0>(codes), high = level_bytes<Level, 1>(codes);
#pragma unroll
            for (int p = 0; p < 2; ++p) {
                const std::uint32_t two = __byte_perm(low, high, p == 0 ? 0x5140u : 0x7362u);
                reinterpret_cast<__half2*>(&out)[2 * i + p] =
                    __hmul2(*reinterpret_cast<const __half2*>(&two), scale);
            }
        }
        return out;
    }
};

}  // namespace voltpile::llm
