// Logarithms and roots from the bits of floating-point numbers, on plain numbers and on SIMD registers. They
// give the same bits on every processor, which functions of a library do not.
#pragma once

#include <cstdint>

#include "sweep/portable.h"
#include "sweep/select.h"

namespace voltpile {
inline namespace VOLTPILE_TARGET {

// Returns ln(x) within 3e-14 + 1e-16 |ln x| for a positive, normal x; any number for others. Real also needs
// bits_of and number_of.
//
// With x = m 2^e and 1 <= m < 2: ln x = (e + 1/2) ln 2 + 2 artanh s, s = (m - sqrt 2) / (m + sqrt 2), and
// |s| < 0.172.
template <class Real>
VOLTPILE_HD Real logarithm(Real x) {
    using Bits = decltype(bits_of(x));
    // e + 1/2: the exponent's bits as the lowest ones of 2^52, less that and the bias.
    const Real exponent = number_of((bits_of(x) >> 52) | Bits(std::uint64_t{0x4330000000000000})) -
                          Real(4503599627370496.0 + 1023) + Real(0.5);
    const Real m = number_of((bits_of(x) & Bits(std::uint64_t{0x000fffffffffffff})) |
                             Bits(std::uint64_t{0x3ff0000000000000}));
    const Real root(1.4142135623730951);
    const Real s = (m - root) / (m + root);
    const Real s2 = s * s;
    Real series(2.0 / 17);
    VOLTPILE_UNROLL
    for (int power = 15; power > 0; power -= 2) series = series * s2 + Real(2.0 / power);
    return exponent * Real(0.69314718055994531) + s * series;
}

// Returns a power of 2, p, with 1/2 <= x p^2 < 2, for a positive, normal x; a large one for 0.
template <class Real>
VOLTPILE_HD Real inverse_root_power(Real x) {
    using Bits = decltype(bits_of(x));
    return number_of(((Bits(std::uint64_t{3 * 1023}) - (bits_of(x) >> 52)) >> 1) << 52);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
