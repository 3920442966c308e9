// The choices of select.h on SIMD registers, lane by lane. Only for sources that voltpile_cpu_kernels
// compiles.
#pragma once

#include "base/simd.h"
#include "sweep/select.h"

namespace voltpile {
inline namespace VOLTPILE_TARGET {

template <class Scalar>
VOLTPILE_HD Simd<Scalar> select_below(Simd<Scalar> a, Simd<Scalar> b, Simd<Scalar> yes, Simd<Scalar> no) {
    return a.v < b.v ? yes.v : no.v;
}

template <class Scalar>
VOLTPILE_HD Simd<Scalar> select_not_above(Simd<Scalar> a, Simd<Scalar> b, Simd<Scalar> yes, Simd<Scalar> no) {
    return a.v <= b.v ? yes.v : no.v;
}

VOLTPILE_HD bool any_below(Simd<double> a, Simd<double> b) {
    constexpr unsigned all_lanes = (1U << (Simd<double>::lanes - 1) << 1) - 1U;
    return lanes_not_above(b, a) != all_lanes;
}

VOLTPILE_HD Simd<std::uint64_t> bits_of(Simd<double> x) {
    return bits_as<std::uint64_t>(x);
}
VOLTPILE_HD Simd<double> number_of(Simd<std::uint64_t> bits) {
    return bits_as<double>(bits);
}

VOLTPILE_HD Simd<double> inverse_root_16(Simd<double> x) {
    return number_of(Simd<std::uint64_t>(inverse_root_16_bits) - (bits_of(x) >> 4));
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
