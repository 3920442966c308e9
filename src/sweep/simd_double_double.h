// Double-double numbers in SIMD registers. Only for sources that voltpile_cpu_kernels compiles.
#pragma once

#include "sweep/double_double.h"
#include "sweep/simd_select.h"

namespace voltpile {
inline namespace VOLTPILE_TARGET {

template <class Scalar_>
struct LaneOf<Simd<Scalar_>> {
    using type = Scalar_;
    static constexpr int count = Simd<Scalar_>::lanes;
};

VOLTPILE_HD Simd<double> product_error(Simd<double> a, Simd<double> b, Simd<double> p) {
    if constexpr (simd_level == CpuLevel::Baseline)
        return split_product_error(a, b, p);
    else
        return fma(a, b, -p);
}

// One bit for each lane: a <= b.
VOLTPILE_HD unsigned lanes_not_above(DoubleDouble<Simd<double>> a, DoubleDouble<Simd<double>> b) {
    return lanes_not_above((a - b).high, Simd<double>(0.0));
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
