// Choices between numbers without branches, on plain numbers; simd_select.h has them on SIMD registers. Code
// over a real type that uses them runs on GPU lanes and on SIMD registers alike.
#pragma once

#include <cstdint>

#include "sweep/portable.h"

namespace voltpile {
inline namespace VOLTPILE_TARGET {

// Returns a if a < b, else b, so a NaN on the left is ignored. Unlike fmin it gives the same on every
// processor.
VOLTPILE_HD double smaller(double a, double b) {
    return a < b ? a : b;
}
VOLTPILE_HD float smaller(float a, float b) {
    return a < b ? a : b;
}

// Returns a > b ? a : b: b if one of them is NaN.
VOLTPILE_HD double larger(double a, double b) {
    return a > b ? a : b;
}
VOLTPILE_HD float larger(float a, float b) {
    return a > b ? a : b;
}

// Returns `yes` if a < b, and `no` if not or if one of them is NaN.
VOLTPILE_HD double select_below(double a, double b, double yes, double no) {
    return a < b ? yes : no;
}

// Returns `yes` if a <= b, and `no` if not or if one of them is NaN.
VOLTPILE_HD double select_not_above(double a, double b, double yes, double no) {
    return a <= b ? yes : no;
}
VOLTPILE_HD float select_not_above(float a, float b, float yes, float no) {
    return a <= b ? yes : no;
}

// Whether a < b, on SIMD registers in any lane; also where one of them is NaN.
VOLTPILE_HD bool any_below(double a, double b) {
    return !(b <= a);
}

// The bits of a number, and the number with the given bits.
VOLTPILE_HD std::uint64_t bits_of(double x) {
#if defined(__CUDA_ARCH__)
    return static_cast<std::uint64_t>(__double_as_longlong(x));
#else
    std::uint64_t bits = 0;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
#endif
}
VOLTPILE_HD double number_of(std::uint64_t bits) {
#if defined(__CUDA_ARCH__)
    return __longlong_as_double(static_cast<long long>(bits));
#else
    double x = 0;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
#endif
}

// Returns x^(-1/16) within 7 %, by linear interpolation of the exponents; a number between 0 and 1 for NaN
// and a large one for 0. The same bits on every processor.
inline constexpr std::uint64_t inverse_root_16_bits = 0x43ef000000000000;  // 17/16 of the bits of 1
VOLTPILE_HD double inverse_root_16(double x) {
    return number_of(inverse_root_16_bits - (bits_of(x) >> 4));
}

// Returns x^(-1/2) within 1e-12 for a positive, normal x: four steps of Newton from a shift of exponent and
// mantissa, which is within 3.5 %. Real also needs bits_of and number_of. The same bits on every processor,
// because no operation is fused.
template <class Real>
VOLTPILE_HD Real rough_inverse_root(Real x) {
    using Bits = decltype(bits_of(x));
    Real y = number_of(Bits(std::uint64_t{0x5fe6eb50c7b537a9}) - (bits_of(x) >> 1));
    const Real half = x * Real(0.5);
    for (int i = 0; i < 4; ++i) y = y * (Real(1.5) - half * (y * y));
    return y;
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
