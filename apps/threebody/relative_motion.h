// Three bodies by the positions of bodies 2 and 3 relative to body 1. The center of mass moves uniformly, so
// these six coordinates are the whole problem, and a method that keeps many stages has a third less to keep.
#pragma once

#include "sweep/inverse_cube.h"
#include "threebody/parameters.h"
#include "threebody/system.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

template <class Real>
struct RelativeMotion {
    Real x[6];  // body 2 - body 1, body 3 - body 1
    Real v[6];
    Real a[6];  // accelerations at x
};

// What does not change along a trajectory of a pair of systems.
template <class Real>
struct PairConstants {
    Real gravity[InverseCube<Real>::terms];  // G times the series of InverseCube
    Real mass2, mass3;
    Real mass12, mass13;   // m1 + m2, m1 + m3
    Real part2, part3;     // m2 / M, m3 / M with M the total mass
    Real center_shift[3];  // the twin's center of mass less the first system's
    Real end;              // time at which the integration ends
    Real mass1;
};

// Calls set(where, value) for each constant, as set_step_constants does.
template <class Number, class Real, class Set>
VOLTPILE_HD void set_pair_constants(const ParameterSet<Number>& p, PairConstants<Real>& constants, Set set) {
    VOLTPILE_UNROLL
    for (int term = 0; term < InverseCube<Real>::terms; ++term) {
        set(constants.gravity[term], p.G * Number(InverseCube<Real>::series(term)));
    }
    const Number total = p.mass[0] + p.mass[1] + p.mass[2];
    set(constants.mass2, p.mass[1]);
    set(constants.mass3, p.mass[2]);
    set(constants.mass12, p.mass[0] + p.mass[1]);
    set(constants.mass13, p.mass[0] + p.mass[2]);
    set(constants.part2, p.mass[1] / total);
    set(constants.part3, p.mass[2] / total);
    VOLTPILE_UNROLL
    for (int c = 0; c < 3; ++c) set(constants.center_shift[c], p.mass[0] * p.twin_shift[c] / total);
    set(constants.end, p.dt * Number(static_cast<double>(step_count(p))));
    set(constants.mass1, p.mass[0]);
}

// Accelerations of the two relative positions x. constants: PairConstants, or anything with its masses.
template <class Real, class Constants>
VOLTPILE_HD void accelerations(const Real (&x)[6], const Constants& constants, Real (&a)[6]) {
    const Real d[3] = {x[3] - x[0], x[4] - x[1], x[5] - x[2]};
    const Real s12 = InverseCube<Real>::times(squared_length(x[0], x[1], x[2]), constants.gravity);
    const Real s13 = InverseCube<Real>::times(squared_length(x[3], x[4], x[5]), constants.gravity);
    const Real s23 = InverseCube<Real>::times(squared_length(d[0], d[1], d[2]), constants.gravity);
    const Real to2 = s12 * constants.mass2;
    const Real to3 = s13 * constants.mass3;
    const Real between2 = s23 * constants.mass2;
    const Real between3 = s23 * constants.mass3;
    const Real back2 = s12 * constants.mass12;
    const Real back3 = s13 * constants.mass13;
    VOLTPILE_UNROLL
    for (int c = 0; c < 3; ++c) {
        a[c] = fnma(back2, x[c], fnma(to3, x[3 + c], between3 * d[c]));
        a[3 + c] = -fma(back3, x[3 + c], fma(to2, x[c], between2 * d[c]));
    }
}

// Sets the first system and its twin to their starts. Accelerations stay undefined.
template <class Number, class Real>
VOLTPILE_HD void initial_motions(const ParameterSet<Number>& p, RelativeMotion<Real>& first,
                                 RelativeMotion<Real>& twin) {
    VOLTPILE_UNROLL
    for (int body = 1; body < 3; ++body) {
        VOLTPILE_UNROLL
        for (int c = 0; c < 3; ++c) {
            const int at = 3 * (body - 1) + c;
            const Number of_first = start_position(p, 0, c);
            first.x[at] = p.position[body][c] - of_first;
            twin.x[at] = p.position[body][c] - (of_first + p.twin_shift[c]);
            first.v[at] = twin.v[at] = p.velocity[body][c] - p.velocity[0][c];
        }
    }
}

// Returns the system with its center of mass where it is at `time`. x, v: as in RelativeMotion.
VOLTPILE_HD System<double> absolute_system(const Parameters& p, const double (&x)[6], const double (&v)[6],
                                           double time) {
    const double total = p.mass[0] + p.mass[1] + p.mass[2];
    System<double> s;
    VOLTPILE_UNROLL
    for (int c = 0; c < 3; ++c) {
        double center = 0;
        double velocity = 0;
        VOLTPILE_UNROLL
        for (int body = 0; body < 3; ++body) {
            center = center + p.mass[body] * start_position(p, body, c) / total;
            velocity = velocity + p.mass[body] * p.velocity[body][c] / total;
        }
        s.x[0][c] = center + velocity * time - (p.mass[1] * x[c] + p.mass[2] * x[3 + c]) / total;
        const double v0 = velocity - (p.mass[1] * v[c] + p.mass[2] * v[3 + c]) / total;
        s.p[0][c] = p.mass[0] * v0;
        VOLTPILE_UNROLL
        for (int body = 1; body < 3; ++body) {
            s.x[body][c] = s.x[0][c] + x[3 * (body - 1) + c];
            s.p[body][c] = p.mass[body] * (v0 + v[3 * (body - 1) + c]);
        }
    }
    return s;
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
