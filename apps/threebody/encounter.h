// The closest approach of two bodies along a path of steps.
#pragma once

#include "sweep/select.h"
#include "threebody/diagnostics.h"
#include "threebody/relative_motion.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

// The smallest distance so far. pair: 0, 1 or 2, as in first_of().
template <class Real>
struct Encounter {
    Real squared_distance;
    Real time;
    Real pair;
};

// Returns the component of x_j - x_i of a pair. of: as in RelativeMotion.
template <class Real>
VOLTPILE_HD Real pair_component(const Real (&of)[6], int pair, int component) {
    return pair == 0 ? of[component] : pair == 1 ? of[3 + component] : of[3 + component] - of[component];
}

template <class Real>
VOLTPILE_HD void note_distance(Encounter<Real>& closest, Real squared_distance, Real time, int pair) {
    closest.time = select_below(squared_distance, closest.squared_distance, time, closest.time);
    closest.pair = select_below(squared_distance, closest.squared_distance,
                                real<Real>(static_cast<double>(pair)), closest.pair);
    closest.squared_distance = smaller(squared_distance, closest.squared_distance);
}

template <class Real>
VOLTPILE_HD Encounter<Real> closest_at_start(const Real (&x)[6]) {
    const Real zero = real<Real>(0);
    Encounter<Real> closest{real<Real>(__builtin_inf()), zero, zero};
    VOLTPILE_UNROLL
    for (int pair = 0; pair < 3; ++pair) {
        note_distance(closest,
                      squared_length(pair_component(x, pair, 0), pair_component(x, pair, 1),
                                     pair_component(x, pair, 2)),
                      zero, pair);
    }
    return closest;
}

// Notes the distances at the end of the step and where two bodies stop approaching within it, where the rate
// of the squared distance is taken as linear. taken: 1, or 0 in lanes where nothing is noted.
template <class Real>
VOLTPILE_HD void note_encounters(Encounter<Real>& so_far, const RelativeMotion<Real>& from,
                                 const RelativeMotion<Real>& to, Real time, Real h, Real taken) {
    const Real zero = real<Real>(0);
    Encounter<Real> closest = so_far;
    // No distance is below -1.
    closest.squared_distance = select_below(zero, taken, so_far.squared_distance, real<Real>(-1));
    VOLTPILE_UNROLL
    for (int pair = 0; pair < 3; ++pair) {
        Real d0[3], d1[3], v0[3], v1[3], a0[3], a1[3];
        VOLTPILE_UNROLL
        for (int c = 0; c < 3; ++c) {
            d0[c] = pair_component(from.x, pair, c), d1[c] = pair_component(to.x, pair, c);
            v0[c] = pair_component(from.v, pair, c), v1[c] = pair_component(to.v, pair, c);
            a0[c] = pair_component(from.a, pair, c), a1[c] = pair_component(to.a, pair, c);
        }
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
    so_far.squared_distance = select_below(zero, taken, closest.squared_distance, so_far.squared_distance);
    so_far.time = closest.time;
    so_far.pair = closest.pair;
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
