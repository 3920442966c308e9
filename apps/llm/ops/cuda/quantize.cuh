// Quantizes activations for matrix-vector products: 16-bit fixed point with one scale per slice of 16
// numbers, stored as separate high and low bytes: x = scale * (256 * high + low). Two dp4a instructions
// multiply 4 of them with 4 quants, and the sum over a slice is exact. The rounding error, 2^-16 of the
// slice's largest number, is below that of fp16 for most numbers.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

namespace voltpile::llm {

struct SliceScale {
    float scale;
    float sum;  // of x over the slice
};
// A row of `columns`, a multiple of 32, has the arrays high (columns), low (columns), slices (columns / 16).
__host__ __device__ constexpr std::int64_t quantized_row_bytes(int columns) {
    return static_cast<std::int64_t>(columns) * 5 / 2;
}
struct QuantizedRow {
    std::uint8_t* data;
    int columns;
    __device__ std::uint8_t* high(int slice) const { return data + slice * 16; }
    __device__ std::uint8_t* low(int slice) const { return data + columns + slice * 16; }
    __device__ SliceScale* scale(int slice) const {
        return reinterpret_cast<SliceScale*>(data + 2 * static_cast<std::int64_t>(columns)) + slice;
    }
};

// The byte `n` of four words, the first one's lowest.
template <int n>
__device__ __forceinline__ std::uint32_t bytes_of(const std::uint32_t (&v)[4]) {
    constexpr unsigned pair = (4 + n) << 4 | n;
    return __byte_perm(__byte_perm(v[0], v[1], pair), __byte_perm(v[2], v[3], pair), 0x5410);
}

// Quantizes 16 numbers. A non-finite number makes the scale NaN, and with it the product.
__device__ __forceinline__ void quantize_slice(const uint4 (&raw)[2], const QuantizedRow& to, int slice) {
    const auto* const pairs = reinterpret_cast<const std::uint32_t*>(raw);
    // Magnitudes of fp16 are in the order of their bits; NaN comes last.
    std::uint32_t most_bits = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) most_bits = __vmaxu2(most_bits, pairs[i] & 0x7fff7fff);
    most_bits = max(most_bits & 0xffff, most_bits >> 16);
    const bool finite = most_bits < 0x7c00;
    const float largest = __half2float(__ushort_as_half(static_cast<unsigned short>(most_bits)));
    constexpr float most = 127 * 256 + 127;
    const float inverse = largest > 0 ? most / largest : 0.0f;
    // The integer nearest to x is in the low bits of x + 1.5 * 2^23. With 128 more, byte 1 is the high part.
    constexpr float integer = 12582912.0f;
    int sum = 0;
    std::uint32_t high[4], low[4];
#pragma unroll
    for (int w = 0; w < 4; ++w) {
        std::uint32_t fixed[4], above[4];
#pragma unroll
        for (int b = 0; b < 4; ++b) {
            const float value = __half2float(reinterpret_cast<const __half*>(raw)[4 * w + b]);
            fixed[b] = __float_as_uint(fmaf(value, inverse, integer));
            above[b] = fixed[b] + 128;
        }
        low[w] = bytes_of<0>(fixed);
        high[w] = bytes_of<1>(above);
        // (256 * high + low) of each, low as int8
        sum = __dp4a(static_cast<int>(low[w]), 0x01010101, sum);
        sum += 256 * __dp4a(static_cast<int>(high[w]), 0x01010101, 0);
    }
    const float scale = finite ? largest / most : __int_as_float(0x7fffffff);
    *reinterpret_cast<uint4*>(to.high(slice)) = make_uint4(high[0], high[1], high[2], high[3]);
    *reinterpret_cast<uint4*>(to.low(slice)) = make_uint4(low[0], low[1], low[2], low[3]);
    *to.scale(slice) = {scale, scale * static_cast<float>(sum)};
}

// Quantizes 16 numbers at x, which must be 16-byte aligned. fresh: past the L1 cache, where a kernel that
// does not wait for earlier ones (MatmulArgs::beside_last) could find old numbers.
__device__ __forceinline__ void quantize_slice(const __half* x, bool fresh, const QuantizedRow& to,
                                               int slice) {
    const auto* const from = reinterpret_cast<const uint4*>(x);
    const uint4 raw[2] = {fresh ? __ldcg(from) : from[0], fresh ? __ldcg(from + 1) : from[1]};
    quantize_slice(raw, to, slice);
}

// Returns the exact sum over a slice of the quants (4 words of 4 int8) times the fixed-point x.
__device__ inline int dot_slice(const int (&quants)[4], const uint4& high, const uint4& low) {
    int h = 0, l = 0;
    h = __dp4a(quants[0], static_cast<int>(high.x), h);
    l = __dp4a(quants[0], static_cast<int>(low.x), l);
    h = __dp4a(quants[1], static_cast<int>(high.y), h);
    l = __dp4a(quants[1], static_cast<int>(low.y), l);
    h = __dp4a(quants[2], static_cast<int>(high.z), h);
    l = __dp4a(quants[2], static_cast<int>(low.z), l);
    h = __dp4a(quants[3], static_cast<int>(high.w), h);
    l = __dp4a(quants[3], static_cast<int>(low.w), l);
    return h * 256 + l;
}

// Returns the same sum for fractions of quants, in 1/256. It leaves out the low bytes of x, which change a
// product by at most 2^-16 of the largest one.
__device__ inline int dot_fractions(const int (&fractions)[4], const uint4& high) {
    int sum = __dp4a(fractions[0], static_cast<int>(high.x), 0);
    sum = __dp4a(fractions[1], static_cast<int>(high.y), sum);
    sum = __dp4a(fractions[2], static_cast<int>(high.z), sum);
    return __dp4a(fractions[3], static_cast<int>(high.w), sum);
}

}  // namespace voltpile::llm
