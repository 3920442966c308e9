// Computes r^-3 from r^2 without a square root or a division: y = seed(r^2) ~ r^-1, then with the small
// e = 1 - r^2 y^2
//     r^-3 = y^3 (1 + 3/2 e + 15/8 e^2 + 35/16 e^3 + ...)
// truncated where the next term falls below the rounding. The strength of the force is multiplied into the
// coefficients of the series, so scaling costs nothing. r^2 = 0 gives NaN or infinity: a collision counts as
// "diverged".
#pragma once

#include "sweep/portable.h"

namespace voltpile {
inline namespace VOLTPILE_TARGET {

// Operations on plain numbers. On a GPU they are the hardware's fused operations; on a host only reference
// code uses them.
template <class Real>
VOLTPILE_HD Real real(double value) {
    return Real(value);
}
VOLTPILE_HD double fma(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
    return __fma_rn(a, b, c);
#else
    return a * b + c;
#endif
}
VOLTPILE_HD float fma(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
    return __fmaf_rn(a, b, c);
#else
    return a * b + c;
#endif
}
VOLTPILE_HD double fnma(double a, double b, double c) {
    return fma(-a, b, c);
}  // c - a b
VOLTPILE_HD float fnma(float a, float b, float c) {
    return fma(-a, b, c);
}

template <class Real>
VOLTPILE_HD Real squared_length(Real x, Real y, Real z) {
    return fma(z, z, fma(y, y, x * x));
}

template <class Real>
struct InverseCube;

// `terms` and `series`: the factors that the strength is multiplied with, once.
// times(r2, coefficient) = coefficient/series * r2^(-3/2).
template <>
struct InverseCube<double> {
    static constexpr int terms = 3;
    static VOLTPILE_HD double series(int term) { return term == 0 ? 1.0 : term == 1 ? 1.5 : 1.875; }

    static VOLTPILE_HD double times(double r2, const double (&coefficient)[terms]) {
#if defined(__CUDA_ARCH__)
        double y;  // relative error below 2^-20, so e < 2e-6 and the first omitted term is below 2e-17
        asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(r2));
#else
        const double y = 1.0 / __builtin_sqrt(r2);
#endif
        const double y2 = y * y;
        const double e = fnma(r2, y2, 1.0);
        const double y3 = y2 * y;
        return y3 * fma(e, fma(e, coefficient[2], coefficient[1]), coefficient[0]);
    }
};

template <>
struct InverseCube<float> {
    static constexpr int terms = 2;
    static VOLTPILE_HD double series(int term) { return term == 0 ? 1.0 : 1.5; }

    static VOLTPILE_HD float times(float r2, const float (&coefficient)[terms]) {
#if defined(__CUDA_ARCH__)
        float y;
        asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(r2));
#else
        const float y = 1.0F / __builtin_sqrtf(r2);
#endif
        const float y2 = y * y;
        const float e = fnma(r2, y2, 1.0F);
        const float y3 = y2 * y;
        return y3 * fma(e, coefficient[1], coefficient[0]);
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
