// Numbers of 106 bits: the unevaluated sum of two doubles (T. J. Dekker, Numer. Math. 18, 224, 1971). Number
// is double, or a SIMD register of doubles (simd_double_double.h). A relative error of a few 2^-104 per
// operation; the range is that of double, without infinities: kNever stands for what never comes.
#pragma once

#include "sweep/fraction.h"
#include "sweep/portable.h"
#include "sweep/select.h"

namespace voltpile {
inline namespace VOLTPILE_TARGET {

// Larger than every number that occurs, and small enough to be split and multiplied by small ones.
inline constexpr double kNever = 1e290;

// Returns what rounding took from p = a b, exactly.
VOLTPILE_HD double product_error(double a, double b, double p) {
#if defined(__CUDA_ARCH__)
    return __fma_rn(a, b, -p);
#else
    return split_product_error(a, b, p);
#endif
}

template <class Number>
struct LaneOf {
    using type = Number;
    static constexpr int count = 1;
};

template <class Number>
struct DoubleDouble {
    Number high, low;  // |low| is at most half a unit in the last place of high

    using Scalar = DoubleDouble<typename LaneOf<Number>::type>;  // what a lane of it holds
    static constexpr int lanes = LaneOf<Number>::count;

    DoubleDouble() = default;
    VOLTPILE_HD DoubleDouble(Number h, Number l) : high(h), low(l) {}
    // An infinity becomes kNever.
    explicit VOLTPILE_HD DoubleDouble(double value) : high(value > kNever ? kNever : value), low(0.0) {}
    explicit VOLTPILE_HD operator double() const { return static_cast<double>(high); }

    // a + b for |a| >= |b|.
    static VOLTPILE_HD DoubleDouble ordered_sum(Number a, Number b) {
        const Number sum = a + b;
        return {sum, b - (sum - a)};
    }
    static VOLTPILE_HD DoubleDouble exact_sum(Number a, Number b) {
        const Number sum = a + b;
        const Number of_b = sum - a;
        return {sum, (a - (sum - of_b)) + (b - of_b)};
    }
    static VOLTPILE_HD DoubleDouble exact_product(Number a, Number b) {
        const Number product = a * b;
        return {product, product_error(a, b, product)};
    }

    friend VOLTPILE_HD DoubleDouble operator-(DoubleDouble a) { return {-a.high, -a.low}; }
    friend VOLTPILE_HD DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
        const DoubleDouble high = exact_sum(a.high, b.high);
        const DoubleDouble low = exact_sum(a.low, b.low);
        const DoubleDouble sum = ordered_sum(high.high, high.low + low.high);
        return ordered_sum(sum.high, sum.low + low.low);
    }
    friend VOLTPILE_HD DoubleDouble operator-(DoubleDouble a, DoubleDouble b) { return a + -b; }
    friend VOLTPILE_HD DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
        const DoubleDouble product = exact_product(a.high, b.high);
        return ordered_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
    }
    friend VOLTPILE_HD DoubleDouble operator/(DoubleDouble a, DoubleDouble b) {
        // Three digits of long division.
        const Number q1 = a.high / b.high;
        const DoubleDouble rest = a - b * DoubleDouble(q1, Number(0.0));
        const Number q2 = rest.high / b.high;
        const DoubleDouble rest2 = rest - b * DoubleDouble(q2, Number(0.0));
        const DoubleDouble sum = ordered_sum(q1, q2);
        return ordered_sum(sum.high, sum.low + rest2.high / b.high);
    }

    friend VOLTPILE_HD DoubleDouble fma(DoubleDouble a, DoubleDouble b, DoubleDouble c) { return a * b + c; }
    friend VOLTPILE_HD DoubleDouble fnma(DoubleDouble a, DoubleDouble b, DoubleDouble c) { return c - a * b; }

    // Of plain numbers.
    friend VOLTPILE_HD bool operator<=(DoubleDouble a, DoubleDouble b) { return (a - b).high <= 0; }

    // As in select.h and base/simd.h.
    friend VOLTPILE_HD DoubleDouble select_below(DoubleDouble a, DoubleDouble b, DoubleDouble yes,
                                                 DoubleDouble no) {
        const Number difference = (a - b).high, zero(0.0);
        return {select_below(difference, zero, yes.high, no.high),
                select_below(difference, zero, yes.low, no.low)};
    }
    friend VOLTPILE_HD DoubleDouble select_not_above(DoubleDouble a, DoubleDouble b, DoubleDouble yes,
                                                     DoubleDouble no) {
        const Number difference = (a - b).high, zero(0.0);
        return {select_not_above(difference, zero, yes.high, no.high),
                select_not_above(difference, zero, yes.low, no.low)};
    }
    friend VOLTPILE_HD DoubleDouble smaller(DoubleDouble a, DoubleDouble b) {
        return select_below(a, b, a, b);
    }
    friend VOLTPILE_HD DoubleDouble larger(DoubleDouble a, DoubleDouble b) {
        return select_below(b, a, a, b);
    }
    friend VOLTPILE_HD DoubleDouble inverse_root_16(DoubleDouble x) {
        return {inverse_root_16(x.high), Number(0.0)};
    }

    VOLTPILE_HD Scalar lane(int i) const { return {high.lane(i), low.lane(i)}; }
    VOLTPILE_HD void set_lane(int i, Scalar value) {
        high.set_lane(i, value.high);
        low.set_lane(i, value.low);
    }
};

template <class Number>
struct Constant<DoubleDouble<Number>> {
    static VOLTPILE_HD DoubleDouble<Number> of(double high, double low) {
        return {Number(high), Number(low)};
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
