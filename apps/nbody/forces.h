// The forces on n bodies. Their coordinates are one array: x, y, z of the first body and so on.
#pragma once

#include "nbody/problem.h"
#include "sweep/inverse_cube.h"
#include "sweep/select.h"

namespace voltpile::nbody {
inline namespace VOLTPILE_TARGET {

// The attraction of two bodies.
template <class Real>
struct Gravity {
    Real terms[InverseCube<Real>::terms];  // G times the series of InverseCube
    Real softening2;                       // squared
};

// The attraction of the center.
template <class Real>
struct Center {
    Real terms[InverseCube<Real>::terms];  // G M times the series
    Real scale2;                           // b^2
    Real strength;                         // w^2 or v^2
};

template <class Real, int bodies>
struct Forces {
    Gravity<Real> gravity;
    Real mass[bodies];
    Potential potential = Potential::None;
    Center<Real> center;

    // Of all bodies of a point; they lie in the same lane.
    VOLTPILE_HD Real total(Real x) const { return x; }
};

// Returns the acceleration of a body at distance d from a body of mass 1, divided by the distance.
template <class Real>
VOLTPILE_HD Real pull_of_body(const Gravity<Real>& gravity, const Real (&d)[3]) {
    const Real r2 = fma(d[2], d[2], fma(d[1], d[1], fma(d[0], d[0], gravity.softening2)));
    return InverseCube<Real>::times(r2, gravity.terms);
}

// Returns the acceleration toward the center at a squared distance r2, divided by the distance.
template <class Real>
VOLTPILE_HD Real pull_of_center(Potential potential, const Center<Real>& center, Real r2) {
    switch (potential) {
        case Potential::None:
            break;
        case Potential::Point:
        case Potential::Plummer:
            return InverseCube<Real>::times(r2 + center.scale2, center.terms);
        case Potential::Harmonic:
            return center.strength;
        case Potential::Logarithmic:
            return center.strength / (r2 + center.scale2);
    }
    return real<Real>(0);
}

// AllForces: has the members of Forces.
template <class Real, class AllForces, int numbers>
VOLTPILE_HD void add_up_forces(const Real (&x)[numbers], const AllForces& forces, Real (&a)[numbers]) {
    constexpr int bodies = numbers / 3;
    VOLTPILE_UNROLL
    for (int c = 0; c < numbers; ++c) a[c] = real<Real>(0);
    if (forces.potential != Potential::None) {
        VOLTPILE_UNROLL
        for (int i = 0; i < bodies; ++i) {
            const Real pull = pull_of_center(forces.potential, forces.center,
                                             squared_length(x[3 * i], x[3 * i + 1], x[3 * i + 2]));
            VOLTPILE_UNROLL
            for (int c = 0; c < 3; ++c) a[3 * i + c] = -(pull * x[3 * i + c]);
        }
    }
    VOLTPILE_UNROLL
    for (int i = 0; i + 1 < bodies; ++i) {
        Real sum[3] = {a[3 * i], a[3 * i + 1], a[3 * i + 2]};
        VOLTPILE_UNROLL
        for (int j = i + 1; j < bodies; ++j) {
            Real d[3];
            VOLTPILE_UNROLL
            for (int c = 0; c < 3; ++c) d[c] = x[3 * j + c] - x[3 * i + c];
            const Real pull = pull_of_body(forces.gravity, d);
            const Real to_j = pull * forces.mass[j];
            const Real to_i = pull * forces.mass[i];
            VOLTPILE_UNROLL
            for (int c = 0; c < 3; ++c) {
                sum[c] = fma(to_j, d[c], sum[c]);
                a[3 * j + c] = fnma(to_i, d[c], a[3 * j + c]);
            }
        }
        VOLTPILE_UNROLL
        for (int c = 0; c < 3; ++c) a[3 * i + c] = sum[c];
    }
}

// Internal to each level's object: the linker must not see any of these symbols.
namespace {

template <class Real, int bodies, int numbers>
__attribute__((noinline)) void call_add_up_forces(const Real (&x)[numbers],
                                                  const Forces<Real, bodies>& forces, Real (&a)[numbers]) {
    add_up_forces(x, forces, a);
}

}  // namespace

// Computes the accelerations at positions x.
template <class Real, int bodies, int numbers>
VOLTPILE_HD void accelerations(const Real (&x)[numbers], const Forces<Real, bodies>& forces,
                               Real (&a)[numbers]) {
    static_assert(numbers == 3 * bodies);
    // The coordinates of more bodies do not fit into registers, so a call costs nothing.
    if constexpr (bodies <= 3)
        add_up_forces(x, forces, a);
    else
        call_add_up_forces(x, forces, a);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::nbody
