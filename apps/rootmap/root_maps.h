// Iterations that converge to the roots of a polynomial, over a real type.
#pragma once

#include <type_traits>

#include "rootmap/state.h"

namespace voltpile::rootmap {
inline namespace VOLTPILE_TARGET {

// What an iteration adds to z is -quotient = -above / below.
template <class Real>
struct Quotient {
    Complex<Real> above, below;
};

template <class Real, class Number>
VOLTPILE_HD Complex<Real> coefficient(const PolynomialIn<Number>& polynomial, int power) {
    return {Real(polynomial.re[power]), Real(polynomial.im[power])};
}

// p(z) by Horner's rule, from the highest power on.
template <class Real, class Number>
VOLTPILE_HD Complex<Real> value_of(const PolynomialIn<Number>& polynomial, Complex<Real> z) {
    Complex<Real> p = coefficient<Real>(polynomial, polynomial.degree);
    for (int k = polynomial.degree - 1; k >= 0; --k) p = p * z + coefficient<Real>(polynomial, k);
    return p;
}

// p(z) and p'(z).
template <class Real, class Number>
VOLTPILE_HD void evaluate(const PolynomialIn<Number>& polynomial, Complex<Real> z, Complex<Real>& p,
                          Complex<Real>& d) {
    d = coefficient<Real>(polynomial, polynomial.degree);
    p = d * z + coefficient<Real>(polynomial, polynomial.degree - 1);
    for (int k = polynomial.degree - 2; k >= 0; --k) {
        d = d * z + p;
        p = p * z + coefficient<Real>(polynomial, k);
    }
}

// p(z), p'(z) and half of p''(z).
template <class Real, class Number>
VOLTPILE_HD void evaluate(const PolynomialIn<Number>& polynomial, Complex<Real> z, Complex<Real>& p,
                          Complex<Real>& d, Complex<Real>& half_second) {
    d = coefficient<Real>(polynomial, polynomial.degree);
    p = d * z + coefficient<Real>(polynomial, polynomial.degree - 1);
    half_second = {Real(0.0), Real(0.0)};
    for (int k = polynomial.degree - 2; k >= 0; --k) {
        half_second = half_second * z + d;
        d = d * z + p;
        p = p * z + coefficient<Real>(polynomial, k);
    }
}

// Each method has: Quotient of(problem, state), which may also change what the state keeps beside z. Given: a
// Problem, or what a GPU kernel keeps of it.
struct NewtonStep {
    template <class Given, class Real>
    static VOLTPILE_HD Quotient<Real> of(const Given& problem, State<Real>& s) {
        Complex<Real> p, d;
        evaluate(problem.polynomial, s.z, p, d);
        return {p, d};
    }
};

struct HalleyStep {
    template <class Given, class Real>
    static VOLTPILE_HD Quotient<Real> of(const Given& problem, State<Real>& s) {
        Complex<Real> p, d, half_second;
        evaluate(problem.polynomial, s.z, p, d, half_second);
        return {p * d, d * d - p * half_second};
    }
};

struct SchroederStep {
    template <class Given, class Real>
    static VOLTPILE_HD Quotient<Real> of(const Given& problem, State<Real>& s) {
        Complex<Real> p, d, half_second;
        evaluate(problem.polynomial, s.z, p, d, half_second);
        return {p * d, d * d - p * (half_second + half_second)};
    }
};

struct SecantStep {
    template <class Given, class Real>
    static VOLTPILE_HD Quotient<Real> of(const Given& problem, State<Real>& s) {
        const Complex<Real> p = value_of(problem.polynomial, s.z);
        const Quotient<Real> quotient = {p * (s.z - s.other), p - s.aid};
        s.other = s.z;
        s.aid = p;
        return quotient;
    }
};

// An iteration as the lanes take it (map_lanes.h). Constants: the relaxation.
template <class Method>
struct RootMap {
    static constexpr bool escapes = false;

    template <class Given, class Real>
    static VOLTPILE_HD void start(const Given& problem, State<Real>& s) {
        if constexpr (std::is_same_v<Method, SecantStep>) s.aid = value_of(problem.polynomial, s.other);
        s.measure = Real(problem.largest_measure);
    }

    // A point whose next one is not finite stays where it is.
    template <class Given, class Real>
    static VOLTPILE_HD void step(const Given& problem, const MapConstants<Real>& constants, State<Real>& s) {
        const Quotient<Real> q = Method::of(problem, s);
        const Real scale = constants.value[0] / squared_length(q.below);
        const Complex<Real> move = {(q.above.x * q.below.x + q.above.y * q.below.y) * scale,
                                    (q.above.y * q.below.x - q.above.x * q.below.y) * scale};
        s.measure = squared_length(move);
        const Real largest(problem.largest_measure);
        s.z.x = select_not_above(s.measure, largest, s.z.x - move.x, s.z.x);
        s.z.y = select_not_above(s.measure, largest, s.z.y - move.y, s.z.y);
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::rootmap
