// A pair of systems with a step size of its own, in each lane: control of the step by the estimated error,
// and the search for the time at which the twins part. One code for GPU lanes and SIMD registers: what
// differs between lanes is selected, not branched on.
#pragma once

#include "sweep/select.h"
#include "threebody/chain_motion.h"
#include "threebody/diagnostics.h"
#include "threebody/path_watch.h"
#include "threebody/relative_motion.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

// What the user demands, the same for all points.
struct AdaptiveDemands {
    double tolerance = 0;
    double separation_squared = 0;
    double most_steps = 0;
    WatchDemands watch;
};

// Both systems have the same time and step. The twins part within (time, parted], or at no known time.
// Motion: RelativeMotion or ChainMotion.
template <class Real, class Motion>
struct AdaptivePair {
    Motion first, twin;
    Real time;
    Real step;        // to attempt next
    Real parted;      // infinite: not known to part
    Real parted_gap;  // squared separation less its limit there; halved each time the other end moves
    Real attempts;    // steps attempted so far, rejected ones included
};

// The squared separation of body 1 from its twin, and half its derivative.
template <class Real>
struct Separation {
    Real squared;
    Real rate;
};

template <class Real>
VOLTPILE_HD Separation<Real> separation(const RelativeMotion<Real>& first, const RelativeMotion<Real>& twin,
                                        const PairConstants<Real>& constants) {
    Real d[3], v[3];
    VOLTPILE_UNROLL
    for (int c = 0; c < 3; ++c) {
        d[c] = fnma(constants.part2, twin.x[c] - first.x[c],
                    fnma(constants.part3, twin.x[3 + c] - first.x[3 + c], constants.center_shift[c]));
        v[c] =
            -fma(constants.part2, twin.v[c] - first.v[c], constants.part3 * (twin.v[3 + c] - first.v[3 + c]));
    }
    return {squared_length(d[0], d[1], d[2]), fma(d[2], v[2], fma(d[1], v[1], d[0] * v[0]))};
}

// The same for chains, whose centers may differ.
template <class Real>
VOLTPILE_HD Separation<Real> separation(const ChainMotion<Real>& first, const ChainMotion<Real>& twin,
                                        const PairConstants<Real>& constants) {
    const FirstBodyParts<Real> a = first_body_parts(first, constants);
    const FirstBodyParts<Real> b = first_body_parts(twin, constants);
    Real d[3], v[3];
    VOLTPILE_UNROLL
    for (int c = 0; c < 3; ++c) {
        d[c] = constants.center_shift[c] + (fma(b.part3, twin.x[3 + c], b.part2 * twin.x[c]) -
                                            fma(a.part3, first.x[3 + c], a.part2 * first.x[c]));
        v[c] = fma(b.part3, twin.v[3 + c], b.part2 * twin.v[c]) -
               fma(a.part3, first.v[3 + c], a.part2 * first.v[c]);
    }
    return {squared_length(d[0], d[1], d[2]), fma(d[2], v[2], fma(d[1], v[1], d[0] * v[0]))};
}

// Sets time, steps and the rest to those of a start whose motions are set.
template <class Real, class Motion>
VOLTPILE_HD void start_pair(AdaptivePair<Real, Motion>& pair, const PairConstants<Real>& constants,
                            const AdaptiveDemands& demands, Real first_step) {
    const Real zero = real<Real>(0);
    const Real infinity = real<Real>(__builtin_inf());
    set_center(pair.first, zero);
    set_center(pair.twin, zero);
    accelerations(pair.first.x, constants, pair.first.a);
    accelerations(pair.twin.x, constants, pair.twin.a);
    pair.time = pair.attempts = pair.parted_gap = zero;
    pair.step = first_step;
    // Twins that start too far apart, or where a number is NaN, have parted.
    pair.parted = select_not_above(separation(pair.first, pair.twin, constants).squared,
                                   real<Real>(demands.separation_squared), infinity, zero);
}

// Returns the squared error of the velocities relative to their squares at both ends of the step.
template <class Real>
VOLTPILE_HD Real squared_relative_error(const RelativeMotion<Real>& from, const RelativeMotion<Real>& to,
                                        const Real (&error)[6]) {
    Real squared = error[0] * error[0];
    Real scale = fma(from.v[0], from.v[0], to.v[0] * to.v[0]);
    VOLTPILE_UNROLL
    for (int c = 1; c < 6; ++c) {
        squared = fma(error[c], error[c], squared);
        scale = fma(from.v[c], from.v[c], fma(to.v[c], to.v[c], scale));
    }
    return squared / scale;
}

// Calls watch.end() with motions relative to body 1.
template <class Real, class Watch>
VOLTPILE_HD Real watch_end_of(AdaptivePair<Real, RelativeMotion<Real>>& pair, const PairConstants<Real>&,
                              const Watch& watch, Real h, Real taken) {
    return watch.end(pair.first, pair.twin, pair.time, h, taken);
}
template <class Real, class Watch>
VOLTPILE_HD Real watch_end_of(AdaptivePair<Real, ChainMotion<Real>>& pair,
                              const PairConstants<Real>& constants, const Watch& watch, Real h, Real taken) {
    RelativeMotion<Real> twin = relative_to_body_1(pair.twin, constants);
    const Real ends = watch.end(relative_to_body_1(pair.first, constants), twin, pair.time, h, taken);
    if (watch.demands.deviation) set_relative_to_body_1(twin, pair.twin);
    return ends;
}

// Attempts one step, and either takes it or sets a shorter one to attempt next. watch: NoWatch, or what calls
// watch_step and watch_end with its own PathWatch, for the same demands.
template <class Integrator, class Real, class Motion, class Watch>
VOLTPILE_HD void advance_pair(AdaptivePair<Real, Motion>& pair, const PairConstants<Real>& constants,
                              const AdaptiveDemands& demands, const Watch& watch) {
    const Real zero = real<Real>(0);
    const Real one = real<Real>(1);
    const Real limit = real<Real>(demands.separation_squared);
    const Real left = constants.end - pair.time;
    const Real h = smaller(pair.step, left);

    choose_center(pair.first);
    choose_center(pair.twin);
    Motion first, twin;
    Real error[6];
    Integrator::attempt(pair.first, h, constants, first, error);
    const Real error_first = squared_relative_error(pair.first, first, error);
    Integrator::attempt(pair.twin, h, constants, twin, error);
    const Real error_twin = squared_relative_error(pair.twin, twin, error);
    // In units of the tolerance; `larger` returns the second if one is NaN, and so the sum is NaN.
    const Real excess = (larger(error_first, error_twin) + zero * error_first) *
                        real<Real>(1 / (demands.tolerance * demands.tolerance));
    // 0.8 (error / tolerance)^(-1/8), between a quarter and four; a quarter for NaN.
    const Real factor =
        larger(smaller(real<Real>(0.8) * inverse_root_16(excess), real<Real>(4)), real<Real>(0.25));

    const Separation<Real> before = separation(pair.first, pair.twin, constants);
    const Separation<Real> after = separation(first, twin, constants);
    const Real gap_before = before.squared - limit;
    const Real gap_after = after.squared - limit;
    // If the twins recede at first and approach in the end, they may have parted in between: where the
    // separation is largest decides, if that is well before the end.
    const Real turn = before.rate / (before.rate - after.rate);
    const Real peak = fma(h * turn, before.rate, gap_before);
    const Real turns = select_below(zero, before.rate, select_below(after.rate, zero, one, zero), zero);
    const Real peaked = select_below(zero, peak, select_below(turn, real<Real>(0.9), turns, zero), zero);

    // 1 or 0 in each lane.
    const Real exact = select_not_above(excess, one, one, zero);
    const Real together = select_not_above(gap_after, zero, one, zero);
    const Real parts = exact * (one - together);
    const Real taken = exact * together * (one - peaked);

    // A step that ends after the twins parted bounds the time from above.
    pair.parted_gap = select_below(zero, parts, gap_after, pair.parted_gap);
    pair.parted = select_below(zero, parts, pair.time + h, pair.parted);
    pair.parted_gap = select_below(zero, taken, pair.parted_gap * real<Real>(0.5), pair.parted_gap);

    const Real time = select_below(h, left, pair.time + h, constants.end);
    take(taken, twin, pair.twin);  // frees registers before a watch needs some
    if constexpr (Watch::watches) {
        watch.step(relative_to_body_1(pair.first, constants), relative_to_body_1(first, constants), pair.time,
                   h, taken);
    }
    pair.time = select_below(zero, taken, time, pair.time);
    take(taken, first, pair.first);

    // Once the twins are known to part, regula falsi with halving (Illinois) finds when. A step that ends
    // closer than half the tolerance to either end would not narrow the interval enough.
    const Real gap = select_below(zero, taken, gap_after, gap_before);
    const Real width = pair.parted - pair.time;
    const Real least = constants.end * real<Real>(0.5 * demands.tolerance);
    const Real secant = larger(smaller(width * (gap / (gap - pair.parted_gap)), width - least), least);
    const Real by_error = h * factor;
    const Real toward = select_below(pair.parted, real<Real>(__builtin_inf()), secant, by_error);
    pair.step = select_below(zero, exact, select_below(zero, together * peaked, h * turn, toward), by_error);
    // A step too short to advance the time will never suffice: the bodies collide. It ends the attempts.
    const Real counted = pair.attempts + one;
    pair.attempts = select_below(by_error, constants.end * real<Real>(1e-16),
                                 select_below(zero, exact, counted, real<Real>(demands.most_steps)), counted);
    if constexpr (Watch::watches) {
        pair.parted =
            select_below(zero, watch_end_of(pair, constants, watch, h, taken), pair.time, pair.parted);
    }
}

// Returns 1 while the pair needs more steps, and 0 once the twins are known to part within the tolerance, the
// integration has reached its end, or no more steps may be attempted.
template <class Real, class Motion>
VOLTPILE_HD Real undecided(const AdaptivePair<Real, Motion>& pair, const PairConstants<Real>& constants,
                           const AdaptiveDemands& demands) {
    const Real zero = real<Real>(0);
    const Real one = real<Real>(1);
    const Real known =
        select_below(constants.end * real<Real>(demands.tolerance), pair.parted - pair.time, one, zero);
    return select_below(pair.time, constants.end,
                        select_below(pair.attempts, real<Real>(demands.most_steps), known, zero), zero);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
