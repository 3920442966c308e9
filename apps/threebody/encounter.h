// The closest approach of two bodies along a path of steps.
#pragma once

#include "sweep/encounter.h"
#include "sweep/select.h"
#include "threebody/diagnostics.h"
#include "threebody/relative_motion.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

// Returns the component of x_j - x_i of a pair. of: as in RelativeMotion.
template <class Real>
VOLTPILE_HD Real pair_component(const Real (&of)[6], int pair, int component) {
    return pair == 0 ? of[component] : pair == 1 ? of[3 + component] : of[3 + component] - of[component];
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
        note_approach(closest, d0, d1, v0, v1, a0, a1, time, h, pair);
    }
    so_far.squared_distance = select_below(zero, taken, closest.squared_distance, so_far.squared_distance);
    so_far.time = closest.time;
    so_far.pair = closest.pair;
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
