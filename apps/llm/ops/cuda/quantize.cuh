// Quantizes activations for matrix-vector products: 16-bit fixed point with one scale for each unit of 32
// numbers, stored as separate high and low bytes: x = scale * (256 * high + low). Two dp4a instructions
// multiply 4 of them with 4 quants, and the sum over a unit is exact. The rounding error, 2^-16 of the unit's
// largest number, is below that of fp16 for most numbers.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

namespace voltpile::llm {

struct alignas(16) UnitScale {
    float scale;
    int sum_of_half[2];  // of 256 * high + low over 16 numbers
};
// A row of `columns`, a multiple of 32, has the arrays high (columns), low (columns), units (columns / 32).
__host__ __device__ constexpr std::int64_t quantized_row_bytes(int columns) {
    return static_cast<std::int64_t>(columns) * 5 / 2;
}
// half: 16 numbers of the row.
struct QuantizedRow {
    std::uint8_t* data;
    int columns;
    __device__ std::uint8_t* high(int half) const { return data + half * 16; }
    __device__ std::uint8_t* low(int half) const { return data + columns + half * 16; }
    __device__ UnitScale* scale(int half) const {
        return reinterpret_cast<UnitScale*>(data + 2 * static_cast<std::int64_t>(columns)) + half / 2;
    }
};

// The byte `n` of four words, the first one's lowest.
template <int n>
__device__ __forceinline__ std::uint32_t bytes_of(const std::uint32_t (&v)[4]) {
    constexpr unsigned pair = (4 + n) << 4 | n;
    return __byte_perm(__byte_perm(v[0], v[1], pair), __byte_perm(v[2], v[3], pair), 0x5410);
}

// Quantizes 16 numbers, if `inside`. All lanes of a warp call it; lanes 2 i and 2 i + 1 have the halves of a
// unit. A non-finite number makes the scale NaN, and with it the product.
__device__ __forceinline__ void quantize_half(const uint4 (&raw)[2], bool inside, const QuantizedRow& to,
                                              int half) {
    const auto* const pairs = reinterpret_cast<const std::uint32_t*>(raw);
    // Magnitudes of fp16 are in the order of their bits; NaN comes last.
    std::uint32_t most_bits = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) most_bits = __vmaxu2(most_bits, pairs[i] & 0x7fff7fff);
    most_bits = max(most_bits & 0xffff, most_bits >> 16);
    most_bits = max(most_bits, __shfl_xor_sync(0xffffffffu, most_bits, 1));
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
    if (!inside) return;
    *reinterpret_cast<uint4*>(to.high(half)) = make_uint4(high[0], high[1], high[2], high[3]);
    *reinterpret_cast<uint4*>(to.low(half)) = make_uint4(low[0], low[1], low[2], low[3]);
    UnitScale& of_unit = *to.scale(half);
    if (half % 2 == 0) of_unit.scale = scale;
    of_unit.sum_of_half[half % 2] = sum;
}

// Where the 16 numbers of a half are, 16-byte aligned, and the row and half that they go to.
struct HalfPlace {
    const __half* from;
    QuantizedRow to;
    int half;
};
// Quantizes the halves first, first + stride, and so on below `halves`. All threads of whole warps call it;
// `first` is that of the thread, and adjacent for adjacent ones. of(half) returns the place of a half. fresh:
// past the L1 cache, where a kernel that does not wait for earlier ones (MatmulArgs::beside_last) could find
// old numbers.
template <class Place>
__device__ __forceinline__ void quantize_halves(int first, int stride, int halves, bool fresh,
                                                const Place& of) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll 1
    for (int warp_first = first - lane; warp_first < halves; warp_first += stride) {
        const int half = warp_first + lane;
        const HalfPlace place = of(min(half, halves - 1));
        const auto* const from = reinterpret_cast<const uint4*>(place.from);
        const uint4 raw[2] = {fresh ? __ldcg(from) : from[0], fresh ? __ldcg(from + 1) : from[1]};
        quantize_half(raw, half < halves, place.to, place.half);
    }
}

// Returns before + the sum over 16 numbers of quants (4 words of 4 int8) times bytes of x.
__device__ inline int dot_16(const int (&quants)[4], const uint4& x, int before) {
    int sum = __dp4a(quants[0], static_cast<int>(x.x), before);
    sum = __dp4a(quants[1], static_cast<int>(x.y), sum);
    sum = __dp4a(quants[2], static_cast<int>(x.z), sum);
    return __dp4a(quants[3], static_cast<int>(x.w), sum);
}

}  // namespace voltpile::llm
