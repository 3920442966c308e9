// Constants that are fractions, with the digits of every real type: an integrator whose coefficients are
// rounded to double has no higher accuracy in a longer type.
#pragma once

#include "sweep/portable.h"

namespace voltpile {
inline namespace VOLTPILE_TARGET {

// Returns what rounding took from p = a b, exactly, unless a or b is above 1e290 or below 1e-140.
template <class Number>
VOLTPILE_HD constexpr Number split_product_error(Number a, Number b, Number p) {
    const Number factor(134217729.0);  // 2^27 + 1: halves of 26 bits, whose products are exact
    const Number ca = factor * a, cb = factor * b;
    const Number a1 = ca - (ca - a), b1 = cb - (cb - b);
    const Number a2 = a - a1, b2 = b - b1;
    return ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2;
}

// Both are exact; denominator: not 0.
struct Fraction {
    double numerator = 0;
    double denominator = 1;

    // high() + low() is the fraction within 2^-104 of it; high() is the nearest double.
    VOLTPILE_HD constexpr double high() const { return numerator / denominator; }
    VOLTPILE_HD constexpr double low() const {
        const double product = high() * denominator;
        return ((numerator - product) - split_product_error(high(), denominator, product)) / denominator;
    }
};

// of(high, low) returns their sum in Real; types as short as double ignore `low`.
template <class Real>
struct Constant {
    static VOLTPILE_HD Real of(double high, double) { return Real(high); }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
