// Sine and cosine on plain numbers and on SIMD registers. They give the same bits on every processor, which
// functions of a library do not.
#pragma once

#include <cstdint>

#include "sweep/portable.h"
#include "sweep/select.h"

namespace voltpile {
inline namespace VOLTPILE_TARGET {

// Returns sin(x + quarters pi/2) within 1e-15 + 1e-22 x for |x| < 1e6; any number for others. Real also needs
// bits_of and number_of.
//
// x is reduced by the nearest multiple k of pi/2 to |r| <= pi/4, where Taylor's series of order 17 are exact.
// pi/2 is the sum of three numbers, the first two of 33 bits, whose products with k are exact.
template <class Real>
VOLTPILE_HD Real sine_of_quarters(Real x, std::uint64_t quarters) {
    using Bits = decltype(bits_of(x));
    const Real to_integer(6755399441055744.0);  // 1.5 2^52: leaves an integer in the lowest bits
    const Real shifted = x * Real(0.63661977236758134) + to_integer;
    const Real k = shifted - to_integer;
    const Real r =
        ((x - k * Real(0x1.921fb544p+0)) - k * Real(0x1.0b4611a6p-34)) - k * Real(0x1.3198a2e037073p-69);
    const Real r2 = r * r;
    Real odd(1.0 / 355687428096000.0);  // 1/17! and on
    odd = odd * r2 - Real(1.0 / 1307674368000.0);
    odd = odd * r2 + Real(1.0 / 6227020800.0);
    odd = odd * r2 - Real(1.0 / 39916800.0);
    odd = odd * r2 + Real(1.0 / 362880.0);
    odd = odd * r2 - Real(1.0 / 5040.0);
    odd = odd * r2 + Real(1.0 / 120.0);
    odd = odd * r2 - Real(1.0 / 6.0);
    const Real sine = r + r * (r2 * odd);
    Real even(1.0 / 20922789888000.0);  // 1/16! and on
    even = even * r2 - Real(1.0 / 87178291200.0);
    even = even * r2 + Real(1.0 / 479001600.0);
    even = even * r2 - Real(1.0 / 3628800.0);
    even = even * r2 + Real(1.0 / 40320.0);
    even = even * r2 - Real(1.0 / 720.0);
    even = even * r2 + Real(1.0 / 24.0);
    const Real cosine = (Real(1.0) - Real(0.5) * r2) + r2 * (r2 * even);
    const Bits quadrant = bits_of(shifted) + Bits(quarters);
    // All bits set where the quadrant is odd.
    const Bits turn = Bits(std::uint64_t{0}) - (quadrant & Bits(std::uint64_t{1}));
    const Bits value = bits_of(sine) ^ ((bits_of(sine) ^ bits_of(cosine)) & turn);
    return number_of(value ^ ((quadrant & Bits(std::uint64_t{2})) << 62));
}

template <class Real>
VOLTPILE_HD Real sine(Real x) {
    return sine_of_quarters(x, 0);
}
template <class Real>
VOLTPILE_HD Real cosine(Real x) {
    return sine_of_quarters(x, 1);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
