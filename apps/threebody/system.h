// A system of three bodies and the forces in it. It stores momenta instead of velocities, because the impulse
// of a pair then needs one multiplication instead of two.
#pragma once

#include "sweep/inverse_cube.h"
#include "sweep/portable.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

template <class Real>
struct System {
    Real x[3][3];  // [body][component]
    Real p[3][3];
};

// The constants of a step of length dt, with every possible product computed beforehand.
template <class Real>
struct StepConstants {
    Real kick[3][InverseCube<Real>::terms];  // [pair]: G m_i m_j dt times the series of InverseCube
    Real drift[3];                           // [body]: dt / m
};

// Pairs in the order (0, 1), (0, 2), (1, 2).
VOLTPILE_HD constexpr int first_of(int pair) {
    return pair == 2 ? 1 : 0;
}
VOLTPILE_HD constexpr int second_of(int pair) {
    return pair == 0 ? 1 : 2;
}

// The impulses of the three pairs within dt at given positions: body i of a pair gains impulse * d, body j
// loses it.
template <class Real>
struct PairForces {
    Real impulse[3];  // [pair]
    Real d[3][3];     // [pair][component]: x_j - x_i
};

template <class Real>
VOLTPILE_HD PairForces<Real> pair_forces(const Real (&x)[3][3], const StepConstants<Real>& constants) {
    PairForces<Real> f;
    VOLTPILE_UNROLL
    for (int pair = 0; pair < 3; ++pair) {
        VOLTPILE_UNROLL
        for (int c = 0; c < 3; ++c) f.d[pair][c] = x[second_of(pair)][c] - x[first_of(pair)][c];
        const Real r2 = squared_length(f.d[pair][0], f.d[pair][1], f.d[pair][2]);
        f.impulse[pair] = InverseCube<Real>::times(r2, constants.kick[pair]);
    }
    return f;
}

// p += (impulses within dt)
template <class Real>
VOLTPILE_HD void kick(Real (&p)[3][3], const PairForces<Real>& f) {
    VOLTPILE_UNROLL
    for (int pair = 0; pair < 3; ++pair) {
        VOLTPILE_UNROLL
        for (int c = 0; c < 3; ++c) {
            p[first_of(pair)][c] = fma(f.impulse[pair], f.d[pair][c], p[first_of(pair)][c]);
            p[second_of(pair)][c] = fnma(f.impulse[pair], f.d[pair][c], p[second_of(pair)][c]);
        }
    }
}

// p += weight * (impulses within dt)
template <class Real>
VOLTPILE_HD void kick(Real (&p)[3][3], PairForces<Real> f, double weight) {
    VOLTPILE_UNROLL
    for (int pair = 0; pair < 3; ++pair) f.impulse[pair] = f.impulse[pair] * real<Real>(weight);
    kick(p, f);
}

template <class Real>
VOLTPILE_HD void kick(System<Real>& s, const StepConstants<Real>& constants) {
    kick(s.p, pair_forces(s.x, constants));
}

template <class Real>
VOLTPILE_HD void kick(System<Real>& s, const StepConstants<Real>& constants, double weight) {
    kick(s.p, pair_forces(s.x, constants), weight);
}

// x += dt p / m
template <class Real>
VOLTPILE_HD void drift(System<Real>& s, const StepConstants<Real>& constants) {
    VOLTPILE_UNROLL
    for (int i = 0; i < 3; ++i) {
        VOLTPILE_UNROLL
        for (int c = 0; c < 3; ++c) s.x[i][c] = fma(constants.drift[i], s.p[i][c], s.x[i][c]);
    }
}

// x += weight * dt p / m
template <class Real>
VOLTPILE_HD void drift(System<Real>& s, const StepConstants<Real>& constants, double weight) {
    VOLTPILE_UNROLL
    for (int i = 0; i < 3; ++i) {
        const Real weighted = constants.drift[i] * real<Real>(weight);
        VOLTPILE_UNROLL
        for (int c = 0; c < 3; ++c) s.x[i][c] = fma(weighted, s.p[i][c], s.x[i][c]);
    }
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
