// One point of a map on its way, in a number type that is a plain number or a SIMD register.
#pragma once

#include "rootmap/problem.h"
#include "sweep/portable.h"
#include "sweep/select.h"

namespace voltpile::rootmap {
inline namespace VOLTPILE_TARGET {

template <class Real>
struct Complex {
    Real x, y;

    friend VOLTPILE_HD Complex operator+(Complex a, Complex b) { return {a.x + b.x, a.y + b.y}; }
    friend VOLTPILE_HD Complex operator-(Complex a, Complex b) { return {a.x - b.x, a.y - b.y}; }
    friend VOLTPILE_HD Complex operator*(Complex a, Complex b) {
        return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
    }
};

template <class Real>
VOLTPILE_HD Real squared_length(Complex<Real> a) {
    return a.x * a.x + a.y * a.y;
}

// Holds one Real for each number and nothing else, so that code can index them as an array.
template <class Real>
struct State {
    Complex<Real> z;
    // Escape: the derivative. Secant: the point before. Attractor: the point that the cycle is to return to.
    Complex<Real> other;
    // Escape: x^2 and y^2. Secant: the polynomial at the point before. Attractor: steps since the point that
    // the cycle is to return to, and the steps after which another one takes its place.
    Complex<Real> aid;
    Real measure;  // decides: |z|^2, or the squared length of the last step or of the gap of the cycle
};
inline constexpr int state_numbers = 7;

// Copies number by number: a compiler that copies a whole State of wide registers keeps it in memory, where
// each iteration waits for the one before to be stored and loaded again.
template <class Real>
VOLTPILE_HD void copy_state(const State<Real>& from, State<Real>& to) {
    to.z.x = from.z.x;
    to.z.y = from.z.y;
    to.other.x = from.other.x;
    to.other.y = from.other.y;
    to.aid.x = from.aid.x;
    to.aid.y = from.aid.y;
    to.measure = from.measure;
}

// What a map needs to know of its point besides the state.
template <class Real>
struct MapConstants {
    Real value[4];
};
inline constexpr int constant_numbers = 4;

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::rootmap
