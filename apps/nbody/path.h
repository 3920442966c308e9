// What is watched along the path of n bodies besides its end: closest approaches, collisions and escapes.
// Only for sources that voltpile_cpu_kernels compiles.
#pragma once

#include "nbody/motion.h"
#include "sweep/encounter.h"

namespace voltpile::nbody {
inline namespace VOLTPILE_TARGET {

// Pairs are numbered 0, 1, ... in the order (1, 2), (1, 3), ..., (2, 3), ...
template <class Real, int bodies>
VOLTPILE_HD void note_distances(Encounter<Real>& closest, const Real (&x)[3 * bodies], Real time) {
    int pair = 0;
    for (int i = 0; i < bodies; ++i) {
        for (int j = i + 1; j < bodies; ++j) {
            note_distance(
                closest,
                squared_length(x[3 * j] - x[3 * i], x[3 * j + 1] - x[3 * i + 1], x[3 * j + 2] - x[3 * i + 2]),
                time, pair++);
        }
    }
}

template <class Real>
VOLTPILE_HD Encounter<Real> no_encounter() {
    return {real<Real>(__builtin_inf()), real<Real>(0), real<Real>(0)};
}

// Notes the approaches within the step of length h that begins at `time`. taken: 1, or 0 in lanes where
// nothing is noted.
template <class Real, int bodies>
VOLTPILE_HD void note_approaches(Encounter<Real>& so_far, const Motion<Real, bodies>& from,
                                 const Motion<Real, bodies>& to, Real time, Real h, Real taken) {
    const Real zero = real<Real>(0);
    Encounter<Real> closest = so_far;
    // No distance is below -1.
    closest.squared_distance = select_below(zero, taken, so_far.squared_distance, real<Real>(-1));
    int pair = 0;
    for (int i = 0; i < bodies; ++i) {
        for (int j = i + 1; j < bodies; ++j) {
            Real d0[3], d1[3], v0[3], v1[3], a0[3], a1[3];
            VOLTPILE_UNROLL
            for (int c = 0; c < 3; ++c) {
                const int of_i = 3 * i + c, of_j = 3 * j + c;
                d0[c] = from.x[of_j] - from.x[of_i], d1[c] = to.x[of_j] - to.x[of_i];
                v0[c] = from.v[of_j] - from.v[of_i], v1[c] = to.v[of_j] - to.v[of_i];
                a0[c] = from.a[of_j] - from.a[of_i], a1[c] = to.a[of_j] - to.a[of_i];
            }
            note_approach(closest, d0, d1, v0, v1, a0, a1, time, h, pair++);
        }
    }
    so_far.squared_distance = select_below(zero, taken, closest.squared_distance, so_far.squared_distance);
    so_far.time = closest.time;
    so_far.pair = closest.pair;
}

// What the escape of a body depends on besides the motion.
template <class Real, int bodies>
struct EscapeTerms {
    // 1 / (mass of the others), to find their center of mass; 0 where a fixed center attracts instead.
    Real share[bodies];
    Real speed2[bodies];  // r times the squared escape velocity there: 2 G times the attracting mass
    Real distance2;
};

template <class Real, int bodies>
VOLTPILE_HD void set_escape_terms(const Problem& problem, std::int64_t point, int lane,
                                  EscapeTerms<Real, bodies>& terms) {
    const double G = number_at(problem, kG, point);
    const double center =
        problem.potential == Potential::None ? 0.0 : number_at(problem, kPotentialMass, point);
    terms.distance2.set_lane(lane, problem.escape_distance * problem.escape_distance);
    for (int i = 0; i < bodies; ++i) {
        const double mass = number_at(problem, kFirstMass + i, point);
        double others = 0;
        for (int j = 0; j < bodies; ++j)
            if (j != i) others += number_at(problem, kFirstMass + j, point);
        const bool fixed = problem.potential != Potential::None;
        terms.share[i].set_lane(lane, fixed || others == 0 ? 0.0 : 1 / others);
        // Without others there is nothing to escape from.
        terms.speed2[i].set_lane(lane, fixed         ? 2 * G * (others + center)
                                       : others == 0 ? __builtin_inf()
                                                     : 2 * G * (others + mass));
    }
}

// Returns the number of a body, 1, 2, ..., that has escaped: further than the distance from every other body
// (and from the fixed center), receding from the center of mass of the others (or from the fixed center), and
// faster than the escape velocity, as if all attracting mass were there. 0: none. The others may be bound to
// each other: a member of a close pair is never alone.
template <class Real, int bodies>
VOLTPILE_HD Real escaped_body(const Motion<Real, bodies>& motion, const Forces<Real, bodies>& forces,
                              const EscapeTerms<Real, bodies>& terms) {
    const Real zero = real<Real>(0);
    Real nearest[bodies];  // squared distance of the nearest body
    for (int i = 0; i < bodies; ++i) nearest[i] = real<Real>(__builtin_inf());
    for (int i = 0; i < bodies; ++i) {
        for (int j = i + 1; j < bodies; ++j) {
            const Real r2 =
                squared_length(motion.x[3 * j] - motion.x[3 * i], motion.x[3 * j + 1] - motion.x[3 * i + 1],
                               motion.x[3 * j + 2] - motion.x[3 * i + 2]);
            nearest[i] = smaller(r2, nearest[i]);
            nearest[j] = smaller(r2, nearest[j]);
        }
    }
    Real x[3], v[3];  // sums over all bodies, times their masses
    for (int c = 0; c < 3; ++c) {
        x[c] = v[c] = zero;
        for (int i = 0; i < bodies; ++i) {
            x[c] = fma(forces.mass[i], motion.x[3 * i + c], x[c]);
            v[c] = fma(forces.mass[i], motion.v[3 * i + c], v[c]);
        }
    }
    Real escaped = zero;
    for (int i = 0; i < bodies; ++i) {
        Real r[3], u[3];
        for (int c = 0; c < 3; ++c) {
            const int at = 3 * i + c;
            r[c] = fnma(terms.share[i], fnma(forces.mass[i], motion.x[at], x[c]), motion.x[at]);
            u[c] = fnma(terms.share[i], fnma(forces.mass[i], motion.v[at], v[c]), motion.v[at]);
        }
        const Real r2 = squared_length(r[0], r[1], r[2]);
        const Real u2 = squared_length(u[0], u[1], u[2]);
        const Real recedes = fma(r[2], u[2], fma(r[1], u[1], r[0] * u[0]));
        const Real apart = forces.potential == Potential::None ? nearest[i] : smaller(r2, nearest[i]);
        // u^2 > 2 G M / r, squared and times r^2.
        Real number =
            select_below(terms.speed2[i] * terms.speed2[i], u2 * u2 * r2, real<Real>(i + 1.0), zero);
        number = select_below(zero, recedes, number, zero);
        number = select_below(terms.distance2, apart, number, zero);
        escaped = select_below(zero, escaped, escaped, number);
    }
    return escaped;
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::nbody
