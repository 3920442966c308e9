// Control of the step of adaptive methods, one code for SIMD registers and GPU lanes: what differs between
// points is selected, not branched on.
#pragma once

#include "nbody/motion.h"
#include "nbody/outcome.h"
#include "sweep/extrapolation10.h"
#include "sweep/nystrom8.h"

namespace voltpile::nbody {
inline namespace VOLTPILE_TARGET {

// Attempts a step of order 10; as Nystrom8::attempt, also with the accelerations at its end.
struct ExtrapolatedStep {
    template <class Real, int bodies, class Forces>
    static VOLTPILE_HD void attempt(const Motion<Real, bodies>& from, Real h, const Forces& forces,
                                    Motion<Real, bodies>& to, Real (&error)[3 * bodies]) {
        Extrapolation10::extrapolate(from, from.a, h, forces, to, error);
        accelerations(to.x, forces, to.a);
    }
};

// What the user demands, the same for all points.
struct PathDemands {
    double inverse_tolerance2 = 0;  // 1 / tolerance^2
    double most_steps = 0;
    double collision2 = 0;  // squared distance; 0: bodies do not collide
    bool escapes = false;
    bool closest = false;
};

inline PathDemands path_demands(const Problem& problem) {
    return {1 / (problem.tolerance * problem.tolerance), static_cast<double>(problem.most_steps),
            problem.collision * problem.collision, problem.escape_distance > 0, problem.want_closest};
}

template <class Real, int bodies>
struct AdaptivePath {
    Motion<Real, bodies> motion;
    Real end, time, step, attempts;
    Real reason;   // 0: undecided; else 1 + Status
    Real escaper;  // as escaped_body returns it
};

VOLTPILE_HD double reason(Status status) {
    return static_cast<double>(static_cast<int>(status)) + 1;
}

VOLTPILE_HD Status status_of(double reason) {
    return static_cast<Status>(static_cast<int>(reason) - 1);
}

template <class Real, int numbers>
VOLTPILE_HD void take(Real taken, const Real (&from)[numbers], Real (&to)[numbers]) {
    VOLTPILE_UNROLL
    for (int c = 0; c < numbers; ++c) to[c] = select_below(real<Real>(0), taken, from[c], to[c]);
}

// Returns the squared error of the velocities relative to their squares at both ends of the step. forces:
// forces.total(x) is the sum of x over all bodies of a point that lie in different lanes.
template <class Real, int bodies, class Forces>
VOLTPILE_HD Real squared_relative_error(const Motion<Real, bodies>& from, const Motion<Real, bodies>& to,
                                        const Real (&error)[3 * bodies], const Forces& forces) {
    Real squared = real<Real>(0);
    Real scale = real<Real>(1e-290);  // bodies that rest and stay at rest have no error
    VOLTPILE_UNROLL
    for (int c = 0; c < 3 * bodies; ++c) {
        squared = fma(error[c], error[c], squared);
        scale = fma(from.v[c], from.v[c], fma(to.v[c], to.v[c], scale));
    }
    return forces.total(squared) / forces.total(scale);
}

// Sets the reason why a path ends; the last that holds counts.
template <class Real, int bodies, class Watch>
VOLTPILE_HD void decide(AdaptivePath<Real, bodies>& path, const PathDemands& demands, const Watch& watch,
                        Real taken) {
    const Real zero = real<Real>(0), one = real<Real>(1);
    const Real rejected = one - taken;
    const auto ends = [&](Real where, Status status) {
        path.reason = select_below(zero, where, real<Real>(reason(status)), path.reason);
    };
    ends(select_not_above(real<Real>(demands.most_steps), path.attempts, one, zero), Status::MaxSteps);
    ends(select_not_above(path.step, path.end * real<Real>(1e-16), rejected, zero), Status::StepTooSmall);
    ends(select_not_above(path.end, path.time, one, zero), Status::End);
    if constexpr (Watch::watches) {
        if (demands.escapes) {
            path.escaper = watch.escaped(path.motion);
            ends(path.escaper * taken, Status::Escape);
        }
        if (demands.collision2 > 0)
            ends(select_not_above(watch.closest_squared(), real<Real>(demands.collision2), one, zero),
                 Status::Collision);
    }
}

struct NoWatch {
    static constexpr bool watches = false;
};

struct NoLimit {
    static constexpr bool parts = false;
};

// Attempts one step, and either takes it or sets a shorter one to attempt next. Watch::watches: whether it
// has these functions; Real is 1 or 0 for true or false.
//   void step(from, to, time, h, taken)   notes approaches within a step, if it is taken
//   Real escaped(motion)                  as escaped_body
//   Real closest_squared()                the smallest squared distance so far
// Limit::parts: whether limit.restrict_step() restricts the step further (twin.h).
template <class Integrator, class Real, int bodies, class Forces, class Watch, class Limit>
VOLTPILE_HD void attempt_step(AdaptivePath<Real, bodies>& path, const Forces& forces,
                              const PathDemands& demands, const Watch& watch, Limit& limit) {
    const Real zero = real<Real>(0), one = real<Real>(1);
    const Real left = path.end - path.time;
    const Real h = smaller(path.step, left);
    Motion<Real, bodies> to;
    Real error[3 * bodies];
    Integrator::attempt(path.motion, h, forces, to, error);
    // In units of the tolerance.
    const Real excess =
        squared_relative_error(path.motion, to, error, forces) * real<Real>(demands.inverse_tolerance2);
    // 0.8 (error / tolerance)^(-1/8), between a quarter and four; a quarter for NaN.
    const Real factor =
        larger(smaller(real<Real>(0.8) * inverse_root_16(excess), real<Real>(4)), real<Real>(0.25));
    Real taken = select_not_above(excess, one, one, zero);
    Real step = h * factor;
    if constexpr (Limit::parts) limit.restrict_step(path, to, h, taken, step);
    if constexpr (Watch::watches) {
        if (demands.closest) watch.step(path.motion, to, path.time, h, taken);
    }
    const Real time = select_below(h, left, path.time + h, path.end);
    path.time = select_below(zero, taken, time, path.time);
    take(taken, to.x, path.motion.x);
    take(taken, to.v, path.motion.v);
    take(taken, to.a, path.motion.a);
    path.step = step;
    path.attempts = path.attempts + one;
    decide(path, demands, watch, taken);
}
template <class Integrator, class Real, int bodies, class Forces, class Watch>
VOLTPILE_HD void attempt_step(AdaptivePath<Real, bodies>& path, const Forces& forces,
                              const PathDemands& demands, const Watch& watch) {
    NoLimit none;
    attempt_step<Integrator>(path, forces, demands, watch, none);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::nbody
