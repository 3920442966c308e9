// What is watched along the path of n bodies besides its end: closest approaches, collisions and escapes.
#pragma once

#include "nbody/motion.h"
#include "sweep/encounter.h"

namespace voltpile::nbody {
inline namespace VOLTPILE_TARGET {

// Pairs are numbered 0, 1, ... in the order (1, 2), (1, 3), ..., (2, 3), ... Returns the number of the bodies
// i < j, which count from 0.
VOLTPILE_HD int pair_number(int i, int j, int bodies) {
    return i * (2 * bodies - i - 1) / 2 + j - i - 1;
}

template <class Real, int bodies>
VOLTPILE_HD void note_distances(Encounter<Real>& closest, const Real (&x)[3 * bodies], Real time) {
    int pair = 0;
    VOLTPILE_UNROLL
    for (int i = 0; i < bodies; ++i) {
        VOLTPILE_UNROLL
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
    VOLTPILE_UNROLL
    for (int i = 0; i < bodies; ++i) {
        VOLTPILE_UNROLL
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

// The same of one body, in plain numbers.
struct EscapeNumbers {
    double share, speed2;
};

// others: the mass of all other bodies.
VOLTPILE_HD EscapeNumbers escape_numbers(const Problem& problem, std::int64_t point, double mass,
                                         double others) {
    const double G = number_at(problem, kG, point);
    if (problem.potential != Potential::None)
        return {0.0, 2 * G * (others + number_at(problem, kPotentialMass, point))};
    // Without others there is nothing to escape from.
    if (others == 0) return {0.0, __builtin_inf()};
    return {1 / others, 2 * G * (others + mass)};
}

// Calls set(where, value) for each number of the terms.
template <class Real, int bodies, class Set>
VOLTPILE_HD void set_escape_terms(const Problem& problem, std::int64_t point,
                                  EscapeTerms<Real, bodies>& terms, Set set) {
    set(terms.distance2, problem.escape_distance * problem.escape_distance);
    for (int i = 0; i < bodies; ++i) {
        double others = 0;
        for (int j = 0; j < bodies; ++j)
            if (j != i) others += number_at(problem, kFirstMass + j, point);
        const EscapeNumbers numbers =
            escape_numbers(problem, point, number_at(problem, kFirstMass + i, point), others);
        set(terms.share[i], numbers.share);
        set(terms.speed2[i], numbers.speed2);
    }
}

// A body and its surroundings. x, v: sums over all bodies, times their masses.
template <class Real>
struct EscapeView {
    Real mass, share, speed2;  // as in EscapeTerms
    Real nearest2;             // squared distance of the nearest body
    Real x[3], v[3];           // of the body
};

// Returns 1 + body if a body has escaped, else 0: it is further than the distance from every other body (and
// from the fixed center), recedes from the center of mass of the others (or from the fixed center), and is
// faster than the escape velocity, as if all attracting mass were there. The others may be bound to each
// other: a member of a close pair is never alone. sum_x, sum_v: of all bodies, times their masses.
template <class Real>
VOLTPILE_HD Real escaped(int body, const EscapeView<Real>& of, const Real (&sum_x)[3], const Real (&sum_v)[3],
                         Potential potential, Real distance2) {
    const Real zero = real<Real>(0);
    Real r[3], u[3];
    VOLTPILE_UNROLL
    for (int c = 0; c < 3; ++c) {
        r[c] = fnma(of.share, fnma(of.mass, of.x[c], sum_x[c]), of.x[c]);
        u[c] = fnma(of.share, fnma(of.mass, of.v[c], sum_v[c]), of.v[c]);
    }
    const Real r2 = squared_length(r[0], r[1], r[2]);
    const Real u2 = squared_length(u[0], u[1], u[2]);
    const Real recedes = fma(r[2], u[2], fma(r[1], u[1], r[0] * u[0]));
    const Real apart = potential == Potential::None ? of.nearest2 : smaller(r2, of.nearest2);
    // u^2 > 2 G M / r, squared and times r^2.
    Real number = select_below(of.speed2 * of.speed2, u2 * u2 * r2, real<Real>(body + 1.0), zero);
    number = select_below(zero, recedes, number, zero);
    return select_below(distance2, apart, number, zero);
}

// Returns the number of the first body, 1, 2, ..., that has escaped; 0: none.
template <class Real, int bodies, class AllForces>
VOLTPILE_HD Real escaped_body(const Motion<Real, bodies>& motion, const AllForces& forces,
                              const EscapeTerms<Real, bodies>& terms) {
    const Real zero = real<Real>(0);
    Real nearest[bodies];  // squared distance of the nearest body
    VOLTPILE_UNROLL
    for (int i = 0; i < bodies; ++i) nearest[i] = real<Real>(__builtin_inf());
    VOLTPILE_UNROLL
    for (int i = 0; i < bodies; ++i) {
        VOLTPILE_UNROLL
        for (int j = i + 1; j < bodies; ++j) {
            const Real r2 =
                squared_length(motion.x[3 * j] - motion.x[3 * i], motion.x[3 * j + 1] - motion.x[3 * i + 1],
                               motion.x[3 * j + 2] - motion.x[3 * i + 2]);
            nearest[i] = smaller(r2, nearest[i]);
            nearest[j] = smaller(r2, nearest[j]);
        }
    }
    Real x[3], v[3];  // sums over all bodies, times their masses
    VOLTPILE_UNROLL
    for (int c = 0; c < 3; ++c) {
        x[c] = v[c] = zero;
        VOLTPILE_UNROLL
        for (int i = 0; i < bodies; ++i) {
            x[c] = fma(forces.mass[i], motion.x[3 * i + c], x[c]);
            v[c] = fma(forces.mass[i], motion.v[3 * i + c], v[c]);
        }
    }
    Real first = zero;
    VOLTPILE_UNROLL
    for (int i = 0; i < bodies; ++i) {
        const EscapeView<Real> view = {forces.mass[i],
                                       terms.share[i],
                                       terms.speed2[i],
                                       nearest[i],
                                       {motion.x[3 * i], motion.x[3 * i + 1], motion.x[3 * i + 2]},
                                       {motion.v[3 * i], motion.v[3 * i + 1], motion.v[3 * i + 2]}};
        const Real number = escaped(i, view, x, v, forces.potential, terms.distance2);
        first = select_below(zero, first, first, number);
    }
    return first;
}

// Watches the paths of lanes that have all bodies of a point (attempt_step). Motions may have companions.
template <class Real, int bodies, class AllForces>
struct WholeWatch {
    static constexpr bool watches = true;
    Encounter<Real>& closest;
    const AllForces& forces;
    const EscapeTerms<Real, bodies>& terms;

    VOLTPILE_HD void note_distances(const Motion<Real, bodies>& motion, Real time) const {
        nbody::note_distances<Real, bodies>(closest, motion.x, time);
    }
    template <int moving>
    VOLTPILE_HD void step(const Motion<Real, moving>& from, const Motion<Real, moving>& to, Real time, Real h,
                          Real taken) const {
        note_approaches(closest, path_of<bodies>(from), path_of<bodies>(to), time, h, taken);
    }
    template <int moving>
    VOLTPILE_HD Real escaped(const Motion<Real, moving>& motion) const {
        return escaped_body(path_of<bodies>(motion), forces, terms);
    }
    VOLTPILE_HD Real closest_squared() const { return closest.squared_distance; }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::nbody
