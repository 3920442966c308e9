// Elementary functions on plain numbers and on SIMD registers. They give the same bits on every processor,
// which functions of a library do not, because no operation is fused. Real also needs bits_of, number_of and
// square_root. Infinities and NaN behave as in the C library.
#pragma once

#include <cstdint>

#include "sweep/select.h"
#include "sweep/sine.h"
#include "sweep/square_root.h"

namespace voltpile::ode {
inline namespace VOLTPILE_TARGET {

// Returns |x|.
template <class Real>
VOLTPILE_HD Real magnitude(Real x) {
    using Bits = decltype(bits_of(x));
    return number_of(bits_of(x) & Bits(std::uint64_t{0x7fffffffffffffff}));
}

// Returns e^x within 2 units in the last place: x = n ln 2 + r with |r| < 0.35, and Taylor's series of order
// 13 for e^r.
template <class Real>
VOLTPILE_HD Real exponential(Real x) {
    using Bits = decltype(bits_of(x));
    const Real most(1000.0), to_integer(6755399441055744.0);  // 1.5 2^52
    Real clamped = select_below(most, x, most, x);
    clamped = select_below(clamped, -most, -most, clamped);
    const Real shifted = clamped * Real(1.4426950408889634) + to_integer;
    const Real n = shifted - to_integer;
    const Real r = (clamped - n * Real(0x1.62e42fefp-1)) - n * Real(0x1.473de6af278edp-34);
    Real series(1.0 / 6227020800.0);  // 1/13! and on
    series = series * r + Real(1.0 / 479001600.0);
    series = series * r + Real(1.0 / 39916800.0);
    series = series * r + Real(1.0 / 3628800.0);
    series = series * r + Real(1.0 / 362880.0);
    series = series * r + Real(1.0 / 40320.0);
    series = series * r + Real(1.0 / 5040.0);
    series = series * r + Real(1.0 / 720.0);
    series = series * r + Real(1.0 / 120.0);
    series = series * r + Real(1.0 / 24.0);
    series = series * r + Real(1.0 / 6.0);
    series = series * r + Real(0.5);
    const Real power = Real(1.0) + (r + (r * r) * series);
    // 2^n in three factors, because |n| may be as large as 1443.
    const Real third = n * Real(1.0 / 3) + to_integer;
    const Real rest = (n - (third - to_integer)) - (third - to_integer) + to_integer;
    const Real a = number_of((bits_of(third) + Bits(std::uint64_t{1023})) << 52);
    const Real b = number_of((bits_of(rest) + Bits(std::uint64_t{1023})) << 52);
    return ((power * a) * a) * b;
}

// Returns ln x within 2 units in the last place: x = 2^k (1 + f), and with s = f / (2 + f),
// ln(1 + f) = f - f^2/2 + s (f^2/2 + 2 s^2/3 + 2 s^4/5 + ...).
template <class Real>
VOLTPILE_HD Real natural_logarithm(Real x) {
    using Bits = decltype(bits_of(x));
    const Real zero(0.0), least_normal(0x1p-1022);
    const Real infinite = number_of(Bits(std::uint64_t{0x7ff0000000000000}));
    const Real scaled = select_below(x, least_normal, x * Real(0x1p54), x);
    const Real scale = select_below(x, least_normal, Real(-54.0), zero);
    const Bits low(std::uint64_t{0x3fe6a09e667f3bcd});  // of sqrt(1/2)
    const Bits shifted = bits_of(scaled) + (Bits(std::uint64_t{0x3ff0000000000000}) - low);
    const Real k = (number_of((shifted >> 52) | Bits(std::uint64_t{0x4330000000000000})) -
                    Real(4503599627370496.0 + 1023)) +
                   scale;
    const Real f = number_of((shifted & Bits(std::uint64_t{0x000fffffffffffff})) + low) - Real(1.0);
    const Real s = f / (Real(2.0) + f);
    const Real s2 = s * s;
    Real series(2.0 / 23);
    VOLTPILE_UNROLL
    for (int power = 21; power > 1; power -= 2) series = series * s2 + Real(2.0 / power);
    const Real half = Real(0.5) * (f * f);
    const Real small = s * (half + s2 * series) + k * Real(0x1.473de6af278edp-34);
    const Real value = k * Real(0x1.62e42fefp-1) + (f - (half - small));
    const Real positive = select_below(x, infinite, value, x);
    const Real at_zero = select_below(x, zero, zero / zero, -infinite);
    return select_below(zero, x, positive, select_not_above(x, zero, at_zero, x));
}

// Returns the angle in (-pi/2, pi/2) whose tangent is x, within 4 units in the last place. Halving the angle
// twice leaves a tangent below 0.2, where the series of order 23 is exact.
template <class Real>
VOLTPILE_HD Real arc_tangent(Real x) {
    using Bits = decltype(bits_of(x));
    const Real one(1.0);
    const Real size = magnitude(x);
    Real y = select_below(one, size, one / size, size);
    y = y / (one + square_root(one + y * y));
    y = y / (one + square_root(one + y * y));
    const Real y2 = y * y;
    Real series(-1.0 / 23);
    VOLTPILE_UNROLL
    for (int power = 21; power > 1; power -= 2)
        series = series * y2 + Real(power % 4 == 1 ? 1.0 / power : -1.0 / power);
    const Real angle = Real(4.0) * (y + y * (y2 * series));
    const Real turned = select_below(one, size, Real(1.5707963267948966) - angle, angle);
    return number_of(bits_of(turned) | (bits_of(x) & Bits(std::uint64_t{0x8000000000000000})));
}

// Returns the angle of the point (x, y) in [-pi, pi]; 0 for the origin.
template <class Real>
VOLTPILE_HD Real angle_of_point(Real y, Real x) {
    const Real zero(0.0), pi(3.1415926535897931);
    const Real angle = arc_tangent(y / x);
    const Real turned = angle + select_below(y, zero, -pi, pi);
    const Real value = select_below(x, zero, turned, angle);
    return select_not_above(magnitude(x) + magnitude(y), zero, zero, value);
}

// Returns tanh x within 3e-16.
template <class Real>
VOLTPILE_HD Real hyperbolic_tangent(Real x) {
    using Bits = decltype(bits_of(x));
    const Real size = magnitude(x);
    const Real value = Real(1.0) - Real(2.0) / (exponential(size + size) + Real(1.0));
    return number_of(bits_of(value) | (bits_of(x) & Bits(std::uint64_t{0x8000000000000000})));
}

// Returns a^b as e^(b ln |a|), with the sign of a for odd b: NaN for a < 0 unless b is a whole number below
// 2^51, 1 for b = 0. Its relative error is about |b ln a| 2^-53.
template <class Real>
VOLTPILE_HD Real general_power(Real a, Real b) {
    using Bits = decltype(bits_of(a));
    const Real zero(0.0), one(1.0),
        to_integer(6755399441055744.0);  // 1.5 2^52: leaves an integer in the lowest bits
    const Real value =
        select_not_above(magnitude(b), zero, one, exponential(b * natural_logarithm(magnitude(a))));
    const Real shifted = b + to_integer;
    const Bits odd = bits_of(shifted) & Bits(std::uint64_t{1});
    const Real with_sign = number_of(bits_of(value) ^ (odd << 63));
    const Real below = select_not_above(magnitude(b - (shifted - to_integer)), zero, with_sign, zero / zero);
    return select_below(a, zero, below, value);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::ode
