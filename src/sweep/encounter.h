// The closest approach of any two bodies along a path.
#pragma once

#include "sweep/inverse_cube.h"
#include "sweep/select.h"

namespace voltpile {
inline namespace VOLTPILE_TARGET {

// The smallest distance so far. pair: the app's number of the pair.
template <class Real>
struct Encounter {
    Real squared_distance;
    Real time;
    Real pair;
};

template <class Real>
VOLTPILE_HD void note_distance(Encounter<Real>& closest, Real squared_distance, Real time, int pair) {
    closest.time = select_below(squared_distance, closest.squared_distance, time, closest.time);
    closest.pair = select_below(squared_distance, closest.squared_distance,
                                real<Real>(static_cast<double>(pair)), closest.pair);
    closest.squared_distance = smaller(squared_distance, closest.squared_distance);
}

// Notes the distance of two bodies at the end of the step of length h that begins at `time`, and where they
// stop approaching within it, where the rate of the squared distance is taken as linear. d, v, a: their
// distance and its derivatives at both ends of the step.
template <class Real>
VOLTPILE_HD void note_approach(Encounter<Real>& closest, const Real (&d0)[3], const Real (&d1)[3],
                               const Real (&v0)[3], const Real (&v1)[3], const Real (&a0)[3],
                               const Real (&a1)[3], Real time, Real h, int pair) {
    const Real zero = real<Real>(0);
    const Real rate0 = fma(d0[2], v0[2], fma(d0[1], v0[1], d0[0] * v0[0]));
    const Real rate1 = fma(d1[2], v1[2], fma(d1[1], v1[1], d1[0] * v1[0]));
    // Where in the step the bodies stop approaching; at its end if they do not. The position there by the
    // polynomial of degree 5 through positions, velocities and accelerations at both ends.
    const Real turn = select_below(
        rate0, zero, select_below(zero, rate1, rate0 / (rate0 - rate1), real<Real>(1)), real<Real>(1));
    const Real t2 = turn * turn;
    const Real t3 = t2 * turn;
    Real middle[3];
    VOLTPILE_UNROLL
    for (int c = 0; c < 3; ++c) {
        const Real p0 = d0[c];
        const Real p1 = h * v0[c];
        const Real p2 = h * h * a0[c] * real<Real>(0.5);
        const Real e0 = d1[c] - p0 - p1 - p2;
        const Real e1 = h * (v1[c] - v0[c]) - real<Real>(2) * p2;
        const Real e2 = h * h * (a1[c] - a0[c]) * real<Real>(0.5);
        const Real p3 = real<Real>(10) * e0 - real<Real>(4) * e1 + e2;
        const Real p4 = real<Real>(-15) * e0 + real<Real>(7) * e1 - real<Real>(2) * e2;
        const Real p5 = real<Real>(6) * e0 - real<Real>(3) * e1 + e2;
        middle[c] = fma(t3, fma(turn, fma(turn, p5, p4), p3), fma(t2, p2, fma(turn, p1, p0)));
    }
    note_distance(closest, squared_length(middle[0], middle[1], middle[2]), fma(turn, h, time), pair);
    note_distance(closest, squared_length(d1[0], d1[1], d1[2]), time + h, pair);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
