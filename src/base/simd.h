// A SIMD register of numbers, for the CPU kernels of all apps. Only for sources that voltpile_cpu_kernels
// (src/CMakeLists.txt) compiles once for each CpuLevel: the compiler's options set the width, and everything
// is inlined and lies in an inline namespace named after the level. So the linker can never pick code
// compiled for AVX-512 for the whole program; tests/check_kernel_symbols.sh checks it.
//
// Every operation gives the same bits at every width; fma and fnma round twice where the level has no fused
// operation.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <cstdint>
#include <type_traits>

#include "base/cpu_level.h"

#ifndef VOLTPILE_TARGET
#error "base/simd.h is only for the sources of voltpile_cpu_kernels"
#endif

#define VOLTPILE_INLINE inline __attribute__((always_inline))

namespace voltpile {
inline namespace VOLTPILE_TARGET {

#if defined(__AVX512F__)
constexpr CpuLevel simd_level = CpuLevel::Avx512;
#elif defined(__AVX2__)
constexpr CpuLevel simd_level = CpuLevel::Avx2;
#else
constexpr CpuLevel simd_level = CpuLevel::Baseline;
#endif
constexpr int simd_bytes = register_bits(simd_level) / 8;

template <class Scalar>
struct SimdRegister {
    typedef Scalar type __attribute__((vector_size(simd_bytes)));
};

template <class Scalar_>
struct Simd {
    using Scalar = Scalar_;
    using Numbers = typename SimdRegister<Scalar>::type;
    static constexpr int lanes = simd_bytes / static_cast<int>(sizeof(Scalar));

    Numbers v;

    VOLTPILE_INLINE Simd() : v() {}
    VOLTPILE_INLINE Simd(Numbers numbers) : v(numbers) {}
    // The same number in all lanes. Minus zero and not plus: that keeps the sign of -0, so it costs nothing.
    VOLTPILE_INLINE Simd(Scalar value) : v(value - Numbers{}) {}
    template <class Number>
    requires std::is_arithmetic_v<Number>
    explicit VOLTPILE_INLINE Simd(Number value) : Simd(static_cast<Scalar>(value)) {}

    static VOLTPILE_INLINE Simd load(const Scalar* from) {
        Simd loaded;
        __builtin_memcpy(&loaded.v, from, sizeof loaded.v);
        return loaded;
    }
    VOLTPILE_INLINE void store(Scalar* to) const { __builtin_memcpy(to, &v, sizeof v); }

    VOLTPILE_INLINE Scalar lane(int i) const { return v[i]; }
    VOLTPILE_INLINE void set_lane(int i, Scalar value) { v[i] = value; }

    VOLTPILE_INLINE Simd& operator+=(Simd b) {
        v += b.v;
        return *this;
    }

    friend VOLTPILE_INLINE Simd operator+(Simd a, Simd b) { return a.v + b.v; }
    friend VOLTPILE_INLINE Simd operator-(Simd a, Simd b) { return a.v - b.v; }
    friend VOLTPILE_INLINE Simd operator*(Simd a, Simd b) { return a.v * b.v; }
    friend VOLTPILE_INLINE Simd operator/(Simd a, Simd b) { return a.v / b.v; }
    friend VOLTPILE_INLINE Simd operator-(Simd a) { return -a.v; }

    // Integers only.
    friend VOLTPILE_INLINE Simd operator&(Simd a, Simd b) { return a.v & b.v; }
    friend VOLTPILE_INLINE Simd operator|(Simd a, Simd b) { return a.v | b.v; }
    friend VOLTPILE_INLINE Simd operator^(Simd a, Simd b) { return a.v ^ b.v; }
    friend VOLTPILE_INLINE Simd operator<<(Simd a, int bits) { return a.v << bits; }
    friend VOLTPILE_INLINE Simd operator>>(Simd a, int bits) { return a.v >> bits; }
};

// The same bits as numbers of another type of the same size.
template <class To, class From>
VOLTPILE_INLINE Simd<To> bits_as(Simd<From> from) {
    static_assert(sizeof(To) == sizeof(From));
    return (typename Simd<To>::Numbers)from.v;
}

// Each number converted, toward zero where it becomes an integer.
template <class To, class From>
VOLTPILE_INLINE Simd<To> converted(Simd<From> from) {
    static_assert(sizeof(To) == sizeof(From));
    return __builtin_convertvector(from.v, typename Simd<To>::Numbers);
}

// a < b ? a : b and a > b ? a : b in each lane: b if one of them is NaN.
template <class Scalar>
VOLTPILE_INLINE Simd<Scalar> smaller(Simd<Scalar> a, Simd<Scalar> b) {
    return a.v < b.v ? a.v : b.v;
}
template <class Scalar>
VOLTPILE_INLINE Simd<Scalar> larger(Simd<Scalar> a, Simd<Scalar> b) {
    return a.v > b.v ? a.v : b.v;
}

// fma: a b + c. fnma: c - a b. lanes_not_above: one bit for each lane, a <= b, which is false for NaN.
#if defined(__AVX512F__)
VOLTPILE_INLINE Simd<double> fma(Simd<double> a, Simd<double> b, Simd<double> c) {
    return _mm512_fmadd_pd(a.v, b.v, c.v);
}
VOLTPILE_INLINE Simd<float> fma(Simd<float> a, Simd<float> b, Simd<float> c) {
    return _mm512_fmadd_ps(a.v, b.v, c.v);
}
VOLTPILE_INLINE Simd<double> fnma(Simd<double> a, Simd<double> b, Simd<double> c) {
    return _mm512_fnmadd_pd(a.v, b.v, c.v);
}
VOLTPILE_INLINE Simd<float> fnma(Simd<float> a, Simd<float> b, Simd<float> c) {
    return _mm512_fnmadd_ps(a.v, b.v, c.v);
}
VOLTPILE_INLINE unsigned lanes_not_above(Simd<double> a, Simd<double> b) {
    return _mm512_cmp_pd_mask(a.v, b.v, _CMP_LE_OQ);
}
VOLTPILE_INLINE unsigned lanes_not_above(Simd<float> a, Simd<float> b) {
    return _mm512_cmp_ps_mask(a.v, b.v, _CMP_LE_OQ);
}
#elif defined(__AVX2__)
VOLTPILE_INLINE Simd<double> fma(Simd<double> a, Simd<double> b, Simd<double> c) {
    return _mm256_fmadd_pd(a.v, b.v, c.v);
}
VOLTPILE_INLINE Simd<float> fma(Simd<float> a, Simd<float> b, Simd<float> c) {
    return _mm256_fmadd_ps(a.v, b.v, c.v);
}
VOLTPILE_INLINE Simd<double> fnma(Simd<double> a, Simd<double> b, Simd<double> c) {
    return _mm256_fnmadd_pd(a.v, b.v, c.v);
}
VOLTPILE_INLINE Simd<float> fnma(Simd<float> a, Simd<float> b, Simd<float> c) {
    return _mm256_fnmadd_ps(a.v, b.v, c.v);
}
VOLTPILE_INLINE unsigned lanes_not_above(Simd<double> a, Simd<double> b) {
    return static_cast<unsigned>(_mm256_movemask_pd(_mm256_cmp_pd(a.v, b.v, _CMP_LE_OQ)));
}
VOLTPILE_INLINE unsigned lanes_not_above(Simd<float> a, Simd<float> b) {
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(a.v, b.v, _CMP_LE_OQ)));
}
#else
// No fused operation here: results differ from the other levels' in the last bits.
template <class Scalar>
VOLTPILE_INLINE Simd<Scalar> fma(Simd<Scalar> a, Simd<Scalar> b, Simd<Scalar> c) {
    return a * b + c;
}
template <class Scalar>
VOLTPILE_INLINE Simd<Scalar> fnma(Simd<Scalar> a, Simd<Scalar> b, Simd<Scalar> c) {
    return c - a * b;
}
#if defined(__SSE2__)
VOLTPILE_INLINE unsigned lanes_not_above(Simd<double> a, Simd<double> b) {
    return static_cast<unsigned>(_mm_movemask_pd(_mm_cmple_pd(a.v, b.v)));
}
VOLTPILE_INLINE unsigned lanes_not_above(Simd<float> a, Simd<float> b) {
    return static_cast<unsigned>(_mm_movemask_ps(_mm_cmple_ps(a.v, b.v)));
}
#else
template <class Scalar>
VOLTPILE_INLINE unsigned lanes_not_above(Simd<Scalar> a, Simd<Scalar> b) {
    // Compares number by number: for a subscripted comparison, (a.v <= b.v)[i], GCC 12 with -fsanitize=bounds
    // generates code that reads an uninitialized index.
    unsigned bits = 0;
    for (int i = 0; i < Simd<Scalar>::lanes; ++i) bits |= (a.v[i] <= b.v[i] ? 1U : 0U) << i;
    return bits;
}
#endif
#endif

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
