// r^-3 on SIMD registers, one trajectory per lane; see inverse_cube.h for the series. Together with
// base/simd.h it gives the same bits at every width wherever there is fused multiply-add, and so do the
// results.
//
// The seed consists of integer operations (the well-known shift of exponent and mantissa, within 3.5 % of
// r^-1) and one step u = r^2 y^2 + a; y <- y (u^2 + b): the best quadratic for t^(-1/2) over the range of the
// first guess, with its square completed. The result has |e| < 5.0e-5 and is scaled: with c the quadratic's
// leading coefficient, y is r^-1 / c and 1/c^2 - r^2 y^2 = e / c^2. The series contains the powers of c. The
// processors' own seed instructions differ between vendors, and AVX2 has none for double.
#pragma once

#include <cstdint>

#include "base/simd.h"
#include "sweep/inverse_cube.h"
#include "sweep/portable.h"

namespace voltpile {
inline namespace VOLTPILE_TARGET {

template <>
struct InverseCube<Simd<double>> {
    static constexpr int terms = 4;
    static VOLTPILE_HD double series(int term) {
        return term == 0   ? 0.052946527400123476
               : term == 1 ? 0.011198342029283699
               : term == 2 ? 0.001973734482105199
                           : 0.0003246837144242484;
    }

    static VOLTPILE_HD Simd<double> times(Simd<double> r2, const Simd<double> (&coefficient)[terms]) {
        using Real = Simd<double>;
        using Bits = Simd<std::uint64_t>;
        const Real y0 = bits_as<double>(Bits(0x5fe6eb50c7b537a9) - (bits_as<std::uint64_t>(r2) >> 1));
        const Real u = fma(r2, y0 * y0, Real(-0x1.aacfde4e2d6afp+0));
        const Real y = y0 * fma(u, u, Real(0x1.1be41e56e4ce0p+1));
        const Real y2 = y * y;
        const Real e = fnma(r2, y2, Real(0x1.c5e5027b9c480p+2));
        const Real y3 = y2 * y;
        return y3 * fma(e, fma(e, fma(e, coefficient[3], coefficient[2]), coefficient[1]), coefficient[0]);
    }
};

// The same in single precision, where two terms of the series suffice: 15/8 e^2 < 5e-9.
template <>
struct InverseCube<Simd<float>> {
    static constexpr int terms = 2;
    static VOLTPILE_HD double series(int term) {
        return term == 0 ? 0.052956915974140116 : 0.011202004290663838;
    }

    static VOLTPILE_HD Simd<float> times(Simd<float> r2, const Simd<float> (&coefficient)[terms]) {
        using Real = Simd<float>;
        using Bits = Simd<std::uint32_t>;
        const Real y0 = bits_as<float>(Bits(0x5f3759df) - (bits_as<std::uint32_t>(r2) >> 1));
        const Real u = fma(r2, y0 * y0, Real(-0x1.aaccff2d824bfp+0));
        const Real y = y0 * fma(u, u, Real(0x1.1be0534a7e2afp+1));
        const Real y2 = y * y;
        const Real e = fnma(r2, y2, Real(0x1.c5d5d01c6c5d0p+2));
        const Real y3 = y2 * y;
        return y3 * fma(e, coefficient[1], coefficient[0]);
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
