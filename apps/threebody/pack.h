// A vector register of numbers, one trajectory per lane. Each CPU target compiles this file with its own
// VOLTPILE_TARGET and VOLTPILE_PACK_BYTES. On processors with fused multiply-add every operation here gives
// the same bits at every width, and so do the results.
#pragma once

#if defined(__FMA__) || defined(__SSE2__)
#include <immintrin.h>
#endif

#include <cstdint>

#include "threebody/inverse_cube.h"
#include "threebody/portable.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

template <class Scalar>
struct PackTypes;
template <>
struct PackTypes<double> {
    typedef double Numbers __attribute__((vector_size(VOLTPILE_PACK_BYTES)));
    typedef std::uint64_t Integers __attribute__((vector_size(VOLTPILE_PACK_BYTES)));
};
template <>
struct PackTypes<float> {
    typedef float Numbers __attribute__((vector_size(VOLTPILE_PACK_BYTES)));
    typedef std::uint32_t Integers __attribute__((vector_size(VOLTPILE_PACK_BYTES)));
};

template <class Scalar_>
struct Pack {
    using Scalar = Scalar_;
    using Numbers = typename PackTypes<Scalar>::Numbers;
    using Integers = typename PackTypes<Scalar>::Integers;
    static constexpr int lanes = VOLTPILE_PACK_BYTES / sizeof(Scalar);

    Numbers v;

    VOLTPILE_HD Pack() : v() {}
    VOLTPILE_HD Pack(Numbers numbers) : v(numbers) {}
    explicit VOLTPILE_HD Pack(double value) : v(Numbers{} + static_cast<Scalar>(value)) {}

    VOLTPILE_HD double lane(int i) const { return static_cast<double>(v[i]); }
    VOLTPILE_HD void set_lane(int i, Scalar value) { v[i] = value; }

    friend VOLTPILE_HD Pack operator+(Pack a, Pack b) { return Pack(a.v + b.v); }
    friend VOLTPILE_HD Pack operator-(Pack a, Pack b) { return Pack(a.v - b.v); }
    friend VOLTPILE_HD Pack operator*(Pack a, Pack b) { return Pack(a.v * b.v); }
    friend VOLTPILE_HD Pack operator-(Pack a) { return Pack(-a.v); }
};

using DoublePack = Pack<double>;
using FloatPack = Pack<float>;

#if defined(__AVX512F__)
VOLTPILE_HD DoublePack fma(DoublePack a, DoublePack b, DoublePack c) {
    return _mm512_fmadd_pd(a.v, b.v, c.v);
}
VOLTPILE_HD FloatPack fma(FloatPack a, FloatPack b, FloatPack c) {
    return _mm512_fmadd_ps(a.v, b.v, c.v);
}
VOLTPILE_HD DoublePack fnma(DoublePack a, DoublePack b, DoublePack c) {
    return _mm512_fnmadd_pd(a.v, b.v, c.v);
}
VOLTPILE_HD FloatPack fnma(FloatPack a, FloatPack b, FloatPack c) {
    return _mm512_fnmadd_ps(a.v, b.v, c.v);
}
// Returns one bit per lane: a <= b, which is false for NaN.
VOLTPILE_HD unsigned lanes_not_above(DoublePack a, DoublePack b) {
    return _mm512_cmp_pd_mask(a.v, b.v, _CMP_LE_OQ);
}
VOLTPILE_HD unsigned lanes_not_above(FloatPack a, FloatPack b) {
    return _mm512_cmp_ps_mask(a.v, b.v, _CMP_LE_OQ);
}
#elif defined(__AVX2__) && defined(__FMA__)
VOLTPILE_HD DoublePack fma(DoublePack a, DoublePack b, DoublePack c) {
    return _mm256_fmadd_pd(a.v, b.v, c.v);
}
VOLTPILE_HD FloatPack fma(FloatPack a, FloatPack b, FloatPack c) {
    return _mm256_fmadd_ps(a.v, b.v, c.v);
}
VOLTPILE_HD DoublePack fnma(DoublePack a, DoublePack b, DoublePack c) {
    return _mm256_fnmadd_pd(a.v, b.v, c.v);
}
VOLTPILE_HD FloatPack fnma(FloatPack a, FloatPack b, FloatPack c) {
    return _mm256_fnmadd_ps(a.v, b.v, c.v);
}
VOLTPILE_HD unsigned lanes_not_above(DoublePack a, DoublePack b) {
    return static_cast<unsigned>(_mm256_movemask_pd(_mm256_cmp_pd(a.v, b.v, _CMP_LE_OQ)));
}
VOLTPILE_HD unsigned lanes_not_above(FloatPack a, FloatPack b) {
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(a.v, b.v, _CMP_LE_OQ)));
}
#else
// This target has no fused operation: its results differ from the others' in the last bits.
template <class Scalar>
VOLTPILE_HD Pack<Scalar> fma(Pack<Scalar> a, Pack<Scalar> b, Pack<Scalar> c) {
    return a * b + c;
}
template <class Scalar>
VOLTPILE_HD Pack<Scalar> fnma(Pack<Scalar> a, Pack<Scalar> b, Pack<Scalar> c) {
    return c - a * b;
}
#if defined(__SSE2__)
VOLTPILE_HD unsigned lanes_not_above(DoublePack a, DoublePack b) {
    return static_cast<unsigned>(_mm_movemask_pd(_mm_cmple_pd(a.v, b.v)));
}
VOLTPILE_HD unsigned lanes_not_above(FloatPack a, FloatPack b) {
    return static_cast<unsigned>(_mm_movemask_ps(_mm_cmple_ps(a.v, b.v)));
}
#else
template <class Scalar>
VOLTPILE_HD unsigned lanes_not_above(Pack<Scalar> a, Pack<Scalar> b) {
    // Compares number by number: for a subscripted comparison, (a.v <= b.v)[i], GCC 12 with -fsanitize=bounds
    // generates code that reads an uninitialized index.
    unsigned bits = 0;
    for (int i = 0; i < Pack<Scalar>::lanes; ++i) bits |= (a.v[i] <= b.v[i] ? 1U : 0U) << i;
    return bits;
}
#endif
#endif

template <class Scalar>
VOLTPILE_HD Pack<Scalar> smaller(Pack<Scalar> a, Pack<Scalar> b) {
    return Pack<Scalar>(a.v < b.v ? a.v : b.v);
}

// The seed consists of integer operations (the well-known shift of exponent and mantissa, within 3.5 % of
// r^-1) and one step u = r^2 y^2 + a; y <- y (u^2 + b): the best quadratic for t^(-1/2) over the range of the
// first guess, with its square completed. The result has |e| < 5.0e-5 and is scaled: with c the quadratic's
// leading coefficient, y is r^-1 / c and 1/c^2 - r^2 y^2 = e / c^2. The series contains the powers of c. The
// processors' own seed instructions differ between vendors, and AVX2 has none for double.
template <>
struct InverseCube<DoublePack> {
    static constexpr int terms = 4;
    static VOLTPILE_HD double series(int term) {
        return term == 0   ? 0.052946527400123476
               : term == 1 ? 0.011198342029283699
               : term == 2 ? 0.001973734482105199
                           : 0.0003246837144242484;
    }

    static VOLTPILE_HD DoublePack times(DoublePack r2, const DoublePack (&coefficient)[terms]) {
        using Integers = DoublePack::Integers;
        const Integers guess = (Integers{} + 0x5fe6eb50c7b537a9) - ((Integers)r2.v >> 1);
        const DoublePack y0((DoublePack::Numbers)guess);
        const DoublePack u = fma(r2, y0 * y0, DoublePack(-0x1.aacfde4e2d6afp+0));
        const DoublePack y = y0 * fma(u, u, DoublePack(0x1.1be41e56e4ce0p+1));
        const DoublePack y2 = y * y;
        const DoublePack e = fnma(r2, y2, DoublePack(0x1.c5e5027b9c480p+2));
        const DoublePack y3 = y2 * y;
        return y3 * fma(e, fma(e, fma(e, coefficient[3], coefficient[2]), coefficient[1]), coefficient[0]);
    }
};

// The same in single precision, where two terms of the series suffice: 15/8 e^2 < 5e-9.
template <>
struct InverseCube<FloatPack> {
    static constexpr int terms = 2;
    static VOLTPILE_HD double series(int term) {
        return term == 0 ? 0.052956915974140116 : 0.011202004290663838;
    }

    static VOLTPILE_HD FloatPack times(FloatPack r2, const FloatPack (&coefficient)[terms]) {
        using Integers = FloatPack::Integers;
        const Integers guess = (Integers{} + 0x5f3759df) - ((Integers)r2.v >> 1);
        const FloatPack y0((FloatPack::Numbers)guess);
        const FloatPack u = fma(r2, y0 * y0, FloatPack(-0x1.aaccff2d824bfp+0));
        const FloatPack y = y0 * fma(u, u, FloatPack(0x1.1be0534a7e2afp+1));
        const FloatPack y2 = y * y;
        const FloatPack e = fnma(r2, y2, FloatPack(0x1.c5d5d01c6c5d0p+2));
        const FloatPack y3 = y2 * y;
        return y3 * fma(e, coefficient[1], coefficient[0]);
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
