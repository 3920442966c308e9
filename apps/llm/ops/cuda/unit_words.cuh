// Words of quantized weights: loads, the bytes of a word as numbers, and the places of bits (matrix.h).
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

namespace voltpile::llm {

// Loads 16 bytes without allocating in L1: weights are read once and must not evict the activations.
__device__ inline uint4 stream16(const void* from) {
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from));
    return v;
}
__device__ inline uint2 stream8(const void* from) {
    uint2 v;
    asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(from));
    return v;
}
__device__ inline std::uint32_t stream4(const void* from) {
    std::uint32_t v;
    asm volatile("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(v) : "l"(from));
    return v;
}

__device__ inline float2 floats_of(std::uint32_t two_halves) {
    return __half22float2(*reinterpret_cast<const __half2*>(&two_halves));
}
__device__ inline std::uint32_t word(const uint4& v, int i) {
    return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}
__device__ inline std::uint32_t word(const uint2& v, int i) {
    return i == 0 ? v.x : v.y;
}
// Returns element j of an array of fp16 numbers in registers.
template <class Words>
__device__ inline float half_in(const Words& words, int j) {
    const float2 two = floats_of(word(words, j / 2));
    return j % 2 == 0 ? two.x : two.y;
}
__device__ inline std::uint32_t byte_of(std::uint32_t v, int b) {
    return (v >> (8 * b)) & 255;
}
// Returns byte b of v as fp32. It becomes the low byte of the significand of 2^23, which is then subtracted;
// a conversion instruction would take four times as long.
__device__ inline float unsigned_byte(std::uint32_t v, int b) {
    return __uint_as_float(__byte_perm(v, 0x4b000000u, 0x7540u + static_cast<unsigned>(b))) - 8388608.0f;
}
__device__ inline float signed_byte(std::uint32_t v, int b) {
    return __uint_as_float(__byte_perm(v ^ 0x80808080u, 0x4b000000u, 0x7540u + static_cast<unsigned>(b))) -
           8388736.0f;
}
// Converts eight numbers to fp16.
__device__ inline uint4 halves_of(const float* value) {
    uint4 halves;
    auto* pair = reinterpret_cast<__half2*>(&halves);
#pragma unroll
    for (int p = 0; p < 4; ++p) pair[p] = __floats2half2_rn(value[2 * p], value[2 * p + 1]);
    return halves;
}

// Moves bit `from` of each byte, and those above it, to bit `to`.
template <int to>
__device__ inline std::uint32_t moved_bits(std::uint32_t v, int from) {
    return from <= to ? v << (to - from) : v >> (from - to);
}
// Return bits of 4 quants as the bytes of a word, in their places: those of word i in half n of the unit.
// two, high: one bit or two of each weight (matrix.h).
__device__ inline std::uint32_t low_bits(const uint4& quants, int n, int i) {
    return (word(quants, i) >> (4 * n)) & 0x0f0f0f0fu;
}
__device__ inline std::uint32_t two_low_bits(std::uint32_t two, int n, int i) {
    return moved_bits<0>(two, 4 * (i % 2) + 2 * n) & 0x03030303u;
}
__device__ inline std::uint32_t third_bits(std::uint32_t high, int n, int i) {
    return moved_bits<2>(high, 2 * i + n) & 0x04040404u;
}
__device__ inline std::uint32_t fifth_bits(std::uint32_t high, int n, int i) {
    return moved_bits<4>(high, 2 * i + n) & 0x10101010u;
}
__device__ inline std::uint32_t sixth_bits(std::uint32_t high, int n, int i) {
    return moved_bits<4>(high, 4 * (i % 2) + 2 * n) & 0x30303030u;
}

// The two functions below are instructions that the compiler does not see through: it would compute each word
// from the higher bits again instead of once what words share.
template <std::uint32_t mask>
__device__ inline std::uint32_t shared_bits(std::uint32_t v) {
    std::uint32_t bits;
    asm("and.b32 %0, %1, %2;" : "=r"(bits) : "r"(v), "n"(mask));
    return bits;
}
// Returns the low bits of the quants and, from `above`, the four higher bits of each byte.
__device__ inline std::uint32_t low_bits_below(std::uint32_t above, const uint4& quants, int n, int i) {
    constexpr int choice = 0xe2;  // the bits of the first number where the second one is 1, else of the third
    std::uint32_t bits;
    asm("lop3.b32 %0, %1, %2, %3, %4;"
        : "=r"(bits)
        : "r"(word(quants, i) >> (4 * n)), "n"(0x0f0f0f0f), "r"(above), "n"(choice));
    return bits;
}
// Return the quants of word i in half n of the unit, for callers that need all words: with fewer instructions
// and more registers than fifth_bits() and sixth_bits(), because words i and i + 2 (five bits) or i and i + 1
// (six) share what is computed from `high`.
__device__ inline std::uint32_t five_bits_of_all(const uint4& quants, std::uint32_t high, int n, int i) {
    const std::uint32_t fifth = shared_bits<0x11111111u>(high >> (2 * (i % 2) + n));
    return low_bits_below(i < 2 ? fifth << 4 : fifth, quants, n, i);
}
__device__ inline std::uint32_t six_bits_of_all(const uint4& quants, std::uint32_t high, int n, int i) {
    const std::uint32_t sixth = shared_bits<0x33333333u>(high >> (2 * n));
    return low_bits_below(i % 2 == 0 ? sixth << 4 : sixth, quants, n, i);
}

// Looks up four codes of 4 bits, the low 16 bits of v, in a table of 16 bytes: those of codes 0 to 3, 4 to 7,
// 8 to 11 and 12 to 15. Returns the bytes as a word.
__device__ inline std::uint32_t look_up(std::uint32_t v, std::uint32_t first, std::uint32_t second,
                                        std::uint32_t third, std::uint32_t fourth) {
    const std::uint32_t low_bits = v & 0x77777777u;
    const std::uint32_t low = __byte_perm(first, second, low_bits);
    const std::uint32_t high = __byte_perm(third, fourth, low_bits);
    return __byte_perm(low, high, 0x3210u | (v & 0x8888u) >> 1);
}
// Returns four codes for look_up(), from word i in half n of a unit.
__device__ inline std::uint32_t codes_of(const uint4& quants, int n, int i) {
    return word(quants, i) >> (16 * n);
}
// Returns the weights of four codes of IQ4_NL and IQ4_XS in units of their scale, as int8 (iq4_value() in
// ops/dequantize.h). Each byte is exclusive-ored with one of `flip`: 0x80 adds 128 and makes it unsigned.
__device__ inline std::uint32_t iq4_values(std::uint32_t codes, std::uint32_t flip = 0) {
    return look_up(codes, 0xbfad9881u ^ flip, 0xf6eaddcfu ^ flip, 0x26190d01u ^ flip, 0x71594535u ^ flip);
}
// Returns (byte - zero) / 2^shift for the four unsigned bytes of a word as pairs of fp16 numbers, exactly:
// each byte becomes the low bits of the fp16 number (1024 + byte) / 2^shift.
template <int zero, int shift = 0>
__device__ inline void bytes_minus(std::uint32_t bytes, __half2 (&out)[2]) {
    static_assert(zero < 256 && shift <= 5);
    constexpr std::uint32_t thousand = 0x64u - 4 * shift;  // the high byte of 1024 / 2^shift
    constexpr std::uint32_t thousands = thousand * 0x01010101u, zeros = (thousand * 256 + zero) * 0x10001u;
    const std::uint32_t words[2] = {__byte_perm(bytes, thousands, 0x4140),
                                    __byte_perm(bytes, thousands, 0x4342)};
#pragma unroll
    for (int i = 0; i < 2; ++i)
        out[i] =
            __hsub2(*reinterpret_cast<const __half2*>(&words[i]), *reinterpret_cast<const __half2*>(&zeros));
}

// Returns scale * (byte - zero) / 2^shift as fp16: only the product is rounded.
template <int zero, int shift = 0>
__device__ inline uint2 scaled_bytes(std::uint32_t bytes, __half scale) {
    __half2 whole[2];
    bytes_minus<zero, shift>(bytes, whole);
    uint2 out;
#pragma unroll
    for (int i = 0; i < 2; ++i) reinterpret_cast<__half2*>(&out)[i] = __hmul2(whole[i], __half2half2(scale));
    return out;
}
// Returns scale * (byte - zero) + offset as fp16, rounded once.
template <int zero>
__device__ inline uint2 scaled_bytes(std::uint32_t bytes, __half scale, __half offset) {
    __half2 whole[2];
    bytes_minus<zero>(bytes, whole);
    uint2 out;
#pragma unroll
    for (int i = 0; i < 2; ++i)
        reinterpret_cast<__half2*>(&out)[i] = __hfma2(whole[i], __half2half2(scale), __half2half2(offset));
    return out;
}

}  // namespace voltpile::llm
