// MXFP4 on GPUs. Planes (matrix.h): quants has codes, scales a uint8 exponent at gu * 4 + j.
#pragma once

#include "llm/ops/cuda/chosen_bytes.h"
#include "llm/ops/cuda/repack.cuh"
#include "llm/ops/cuda/row_units.cuh"

namespace voltpile::llm {

// MXFP4 blocks: exponent, 16 bytes of nibbles.
template <>
struct FileBlock<WeightFormat::MXFP4> {
    __device__ static void repack(const std::uint8_t* blocks, const ThreadUnit& mine, const Planes& to) {
        const std::uint8_t* block = blocks + mine.index * bytes_of_block<WeightFormat::MXFP4>;
        const Place& place = mine.place;
        put_codes(block + 1, place.quants);
        to.scales[place.unit] = block[0];
    }
};

// Returns twice the weights of four codes of MXFP4 in units of its scale, as int8.
__device__ inline std::uint32_t mxfp4_values(std::uint32_t codes) {
    return look_up(codes, 0x03020100u, 0x0c080604u, 0xfdfeff00u, 0xf4f8fafcu);
}
// Returns 2^(e - 128), half of what the exponent e of MXFP4 means: quants are twice the weights.
__device__ inline float half_of_exponent(std::uint32_t e) {
    return __uint_as_float(e < 2 ? 0x00200000u << e : (e - 1) << 23);
}

// Quants are twice the weights plus 16. So every byte of the tables is positive, and prmt yields 0 for a code
// with its high bit set: of the two tables, one yields 0 for each code.
template <>
struct Units<WeightFormat::MXFP4> : NibbleUnits {
    static constexpr int zero = 16;
    struct Raw {
        uint4 quants[4];
        std::uint32_t exponents;
    };
    __device__ static Raw load(const DeviceMatrix& w, int group, int unit) {
        Raw raw;
        load_quants(raw.quants, w, group, unit);
        raw.exponents = stream4(w.scales + unit_index(w, group, unit) * 4);
        return raw;
    }
    __device__ static int quants(const Raw& raw, int j, int n, int i) {
        const std::uint32_t codes = word(raw.quants[j], i), others = codes ^ 0x88888888u;
        return static_cast<int>(chosen_bytes(0x13121110u, 0x1c181614u, codes >> (16 * n)) |
                                chosen_bytes(0x0d0e0f10u, 0x04080a0cu, others >> (16 * n)));
    }
    __device__ static float scale(const Raw& raw, int j, int) {
        return half_of_exponent(byte_of(raw.exponents, j));
    }
};

// Exponents below 2^-24 become 0 in fp16, and those above 2^15 infinite.
template <>
struct RowUnit<WeightFormat::MXFP4> {
    struct Raw {
        uint4 quants;
        std::uint8_t exponent;
    };
    __device__ __forceinline__ static Raw load(const DeviceMatrix& w, int row, int unit) {
        return {quants_at(w, row, unit), w.scales[RowIndex(w, row, unit).unit]};
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        const float d = half_of_exponent(raw.exponent);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            out[i] = d * signed_byte(mxfp4_values(codes_of(raw.quants, q / 2, q % 2 * 2 + i / 4)), i % 4);
        }
    }
    // The tables have the upper bytes of the codes as fp16 numbers; their lower bytes are 0.
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        const __half2 scale = __half2half2(__float2half_rn(2 * half_of_exponent(raw.exponent)));
        uint4 out;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const std::uint32_t upper = look_up(codes_of(raw.quants, q / 2, q % 2 * 2 + i), 0x3e3c3800u,
                                                0x46444240u, 0xbebcb880u, 0xc6c4c2c0u);
#pragma unroll
            for (int p = 0; p < 2; ++p) {
                const std::uint32_t two = __byte_perm(upper, 0, p == 0 ? 0x1404u : 0x3424u);
                reinterpret_cast<__half2*>(&out)[2 * i + p] =
                    __hmul2(*reinterpret_cast<const __half2*>(&two), scale);
            }
        }
        return out;
    }
};

}  // namespace voltpile::llm
