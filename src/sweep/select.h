// Choices between numbers without branches, on plain numbers; simd_select.h has them on SIMD registers. Code
// over a real type that uses them runs on GPU lanes and on SIMD registers alike.
#pragma once

#include <cstdint>

#include "sweep/portable.h"

namespace voltpile {
inline namespace VOLTPILE_TARGET {

// Returns a > b ? a : b: b if one of them is NaN.
VOLTPILE_HD double larger(double a, double b) {
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

// Returns x^(-1/16) within 7 %, by linear interpolation of the exponents; a number between 0 and 1 for NaN
// and a large one for 0. The same bits on every processor.
inline constexpr std::uint64_t inverse_root_16_bits = 0x43ef000000000000;  // 17/16 of the bits of 1
VOLTPILE_HD double inverse_root_16(double x) {
#if defined(__CUDA_ARCH__)
    const auto bits = static_cast<std::uint64_t>(__double_as_longlong(x));
    return __longlong_as_double(static_cast<long long>(inverse_root_16_bits - (bits >> 4)));
#else
    std::uint64_t bits = 0;
    __builtin_memcpy(&bits, &x, sizeof bits);
    bits = inverse_root_16_bits - (bits >> 4);
    __builtin_memcpy(&x, &bits, sizeof bits);
    return x;
#endif
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
