// The sums over groups of columns that integer products consist of.
#pragma once

#include "llm/ops/cpu/unpack_256.h"
#include "llm/ops/cpu/unpack_codebooks.h"

namespace voltpile::llm {
inline namespace VOLTPILE_TARGET {
namespace {

#if defined(__AVX2__)
struct FourBytes {
    std::int8_t bytes[4];
};

VOLTPILE_INLINE IntLanes broadcast_four(const std::int8_t* x) {
    std::int32_t four;
    __builtin_memcpy(&four, x, 4);
    return IntLanes(four);
}

// Steps of 4 columns that a group of columns with one scale has.
template <WeightFormat format>
constexpr int group_steps = Unpack<format>::group / 4;

// The sum over a group of columns of weights times activations, in each lane for one weight. add() is called
// for the group's steps 0 to group_steps - 1 in order.
#if defined(__AVX512F__)
template <WeightFormat format>
struct GroupSum {
    IntLanes sum;
    VOLTPILE_INLINE void begin(std::int32_t offset) { sum = IntLanes(offset); }
    // Adds to each lane the products of its 4 weights with 4 activations. As assembly: the compiler's own
    // function needs an option that would let it use VNNI anywhere in this file.
    VOLTPILE_INLINE void add(int, IntLanes w, const std::int8_t* x) {
        __asm__("vpdpbusd %2%{1to16%}, %1, %0"
                : "+v"(sum.v)
                : "v"(w.v), "m"(*reinterpret_cast<const FourBytes*>(x)));
    }
    VOLTPILE_INLINE void add(int, IntLanes w, IntLanes x) {
        __asm__("vpdpbusd %2, %1, %0" : "+v"(sum.v) : "v"(w.v), "v"(x.v));
    }
};
#else
// How many steps' sums of two products fit into 16 bits: two products are at most 2 * 127 times the largest
// weight.
template <WeightFormat format>
constexpr int steps_in_16_bits = 32767 / (2 * 127 * Unpack<format>::largest);
static_assert(steps_in_16_bits<WeightFormat::Q8_0> == 1 && steps_in_16_bits<WeightFormat::Q4_0> == 8);
template <WeightFormat format>
struct GroupSum {
    IntLanes sum;
    __m256i pairs;
    VOLTPILE_INLINE void begin(std::int32_t offset) { sum = IntLanes(offset); }
    VOLTPILE_INLINE void add(int step, IntLanes w, IntLanes x) {
        auto a = (__m256i)w.v, b = (__m256i)x.v;
        if (Unpack<format>::is_signed) {  // maddubs takes magnitudes and signed numbers
            b = _mm256_sign_epi8(b, a);
            a = _mm256_abs_epi8(a);
        }
        add(step, _mm256_maddubs_epi16(a, b));
    }
    VOLTPILE_INLINE void add(int step, IntLanes w, const std::int8_t* x) {
        if constexpr (Unpack<format>::is_signed) return add(step, w, broadcast_four(x));
        // As assembly, or else the compiler broadcasts early and runs out of registers.
        __m256i two;
        __asm__("vpbroadcastd %2, %0\n\tvpmaddubsw %0, %1, %0"
                : "=&x"(two)
                : "x"(w.v), "m"(*reinterpret_cast<const FourBytes*>(x)));
        add(step, two);
    }

  private:
    VOLTPILE_INLINE void add(int step, __m256i two) {
        constexpr int most = steps_in_16_bits<format>;
        pairs = step % most == 0 ? two : _mm256_add_epi16(pairs, two);
        // Or else the compiler makes a tree of the sums, for which there are too few registers.
        __asm__("" : "+x"(pairs));
        if (step % most == most - 1 || step == group_steps<format> - 1)
            sum = (IntLanes::Numbers)_mm256_add_epi32((__m256i)sum.v,
                                                      _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    }
};
#endif

// What the offset of the stored weights adds to the products of a group.
template <WeightFormat format>
VOLTPILE_INLINE std::int32_t offset_sum(const QuantizedBlock& x, int group) {
    if constexpr (Unpack<format>::is_signed) {
        if (simd_level != CpuLevel::Avx512) return 0;
        return Unpack<format>::group == quantized_columns ? x.minus_128_sums : x.minus_32_sums[group] * 4;
    }
    if constexpr (format == WeightFormat::Q4_0) return x.minus_8_sums;
    if constexpr (format == WeightFormat::Q5_0) return x.minus_8_sums * 2;
    if constexpr (format == WeightFormat::Q6_K) return x.minus_32_sums[group];
    if constexpr (format == WeightFormat::Q3_K) return x.minus_32_sums[group] / 8;
    if constexpr (format == WeightFormat::MXFP4) return x.minus_8_sums / 2 * 3;  // 12 times the sum, exactly
    return 0;
}

// Returns the sum of the activations, times their scale, that a minimum counts for. group: 0, or half of the
// 32 columns.
template <WeightFormat format>
VOLTPILE_INLINE Lanes min_sum(const QuantizedBlock& x, int group) {
    return Lanes(Unpack<format>::min_group == quantized_columns ? x.sum : x.half_sums[group]);
}
#endif

}  // namespace
}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
