// Whether the twins are still together, at next to no cost for the FP64 units: positions are rounded to
// single precision by the conversion unit and compared there, with a margin for all that rounding may have
// done. Only inside the margin, and for numbers that single precision cannot hold, does the exact test
// decide; so the result is always the exact test's.
#pragma once

#include "threebody/system.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

struct SeparationTest {
    double limit_squared;  // of the exact test
    float sure_squared;    // less `slope` |x1| (1-norm): below it the twins are together for certain
    float slope;
};

// With d the true distance, f the single-precision one: |f - d| <= 2^-23 |x1| (1-norm) + 2e-7 d. The factor 1
// - 1e-5 pays for the relative part and for rounding in f^2; slope = 2 separation 1.25e-7 > 2 separation
// 2^-23 pays for the absolute one.
inline SeparationTest make_separation_test(double separation) {
    SeparationTest test;
    test.limit_squared = separation * separation;
    if (separation > 1e15) {  // as good as never apart: only what is not a number is
        test.sure_squared = 1e30F;
        test.slope = 0;
    } else {
        test.sure_squared = static_cast<float>(test.limit_squared * (1 - 1e-5));
        test.slope = static_cast<float>(2 * separation * 1.25e-7);
    }
    return test;
}

template <class Real>
__device__ __forceinline__ bool surely_together(const System<Real>& first, const System<Real>& twin,
                                                const SeparationTest& test) {
    const float x = static_cast<float>(first.x[0][0]);
    const float y = static_cast<float>(first.x[0][1]);
    const float z = static_cast<float>(first.x[0][2]);
    const float dx = x - static_cast<float>(twin.x[0][0]);
    const float dy = y - static_cast<float>(twin.x[0][1]);
    const float dz = z - static_cast<float>(twin.x[0][2]);
    const float size = fabsf(x) + fabsf(y) + fabsf(z);
    return squared_length(dx, dy, dz) <= __fmaf_rn(-test.slope, size, test.sure_squared);
}

template <class Real>
__device__ __forceinline__ bool together(const System<Real>& first, const System<Real>& twin,
                                         const SeparationTest& test) {
    const Real r2 = squared_length(first.x[0][0] - twin.x[0][0], first.x[0][1] - twin.x[0][1],
                                   first.x[0][2] - twin.x[0][2]);
    return r2 <= static_cast<Real>(test.limit_squared);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
