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

// Returns 2^(e - 128), half of what the exponent e of MXFP4 means: quants are twice the weights.
__device__ inline float half_of_exponent(std::uint32_t e) {
    return __uint_as_float(e < 2 ? 0x00200000u << e : (e - 1) << 23);
}

// Returns twice the weights, in units of their scale, plus 16, of half n of a word of codes. So all bytes of
// the tables are positive, and prmt yields 0 for a code with its high bit set: of the two tables, one yields
// 0 for each code. others: the codes with their high bits inverted.
__device__ inline std::uint32_t mxfp4_bytes(std::uint32_t codes, std::uint32_t others, int n) {
    return chosen_bytes(0x13121110u, 0x1c181614u, codes >> (16 * n)) |
           chosen_bytes(0x0d0e0f10u, 0x04080a0cu, others >> (16 * n));
}

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
        const std::uint32_t codes = word(raw.quants[j], i);
        return static_cast<int>(mxfp4_bytes(codes, codes ^ 0x88888888u, n));
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
    __device__ __forceinline__ static auto bytes(const Raw& raw) {
        return [&](int n, int i) {
            const std::uint32_t codes = word(raw.quants, i);
            // The compiler does not see through it. Else it would invert the bits of each half separately.
            std::uint32_t others;
            asm("xor.b32 %0, %1, %2;" : "=r"(others) : "r"(codes), "n"(0x88888888u));
            return mxfp4_bytes(codes, others, n);
        };
    }
    __device__ __forceinline__ static void eight(const Raw& raw, int q, float (&out)[8]) {
        eight_of_bytes<16>(half_of_exponent(raw.exponent), q, bytes(raw), out);
    }
    __device__ __forceinline__ static uint4 halves(const Raw& raw, int q) {
        return halves_of_bytes<16, 1>(__float2half_rn(2 * half_of_exponent(raw.exponent)), q, bytes(raw));
    }
};

}  // namespace voltpile::llm
