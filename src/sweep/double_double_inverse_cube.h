// r^-3 in double-double, for inverse_cube.h. With y ~ r^-1 in double and e = 1 - r^2 y^2, which is then below
// 1e-12, r^-3 = y^3 (1 + 3/2 e + 15/8 e^2) lacks less than 1e-35.
#pragma once

#include "sweep/double_double.h"
#include "sweep/inverse_cube.h"

namespace voltpile {
inline namespace VOLTPILE_TARGET {

template <class Number>
struct InverseCube<DoubleDouble<Number>> {
    using Real = DoubleDouble<Number>;
    static constexpr int terms = 1;
    static VOLTPILE_HD double series(int) { return 1.0; }

    static VOLTPILE_HD Real times(Real r2, const Real (&coefficient)[terms]) {
        const Number y = rough_inverse_root(r2.high);
        const Real y2 = Real::exact_product(y, y);
        const Real e = real<Real>(1) - r2 * y2;
        const Real series = e * real<Real>(1.5) + Real(e.high * e.high * Number(1.875), Number(0.0));
        return (y2 * Real(y, Number(0.0))) * ((real<Real>(1) + series) * coefficient[0]);
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
