// The forces on n bodies. Their coordinates are one array: x, y, z of the first body and so on. Only for
// sources that voltpile_cpu_kernels compiles.
#pragma once

#include "nbody/problem.h"
#include "sweep/simd_inverse_cube.h"
#include "sweep/simd_select.h"

namespace voltpile::nbody {
inline namespace VOLTPILE_TARGET {

template <class Real, int bodies>
struct Forces {
    Real gravity[InverseCube<Real>::terms];  // G times the series of InverseCube
    Real softening2;                         // squared
    Real mass[bodies];
    Potential potential = Potential::None;
    Real center[InverseCube<Real>::terms];  // G M times the series
    Real scale2;                            // b^2
    Real strength;                          // w^2 or v^2
};

// Returns the acceleration toward the center, divided by the distance from it.
template <class Real, int bodies>
VOLTPILE_HD Real pull_of_center(const Forces<Real, bodies>& forces, Real r2) {
    switch (forces.potential) {
        case Potential::None:
            break;
        case Potential::Point:
        case Potential::Plummer:
            return InverseCube<Real>::times(r2 + forces.scale2, forces.center);
        case Potential::Harmonic:
            return forces.strength;
        case Potential::Logarithmic:
            return forces.strength / (r2 + forces.scale2);
    }
    return real<Real>(0);
}

template <class Real, int bodies, int numbers>
VOLTPILE_HD void add_up_forces(const Real (&x)[numbers], const Forces<Real, bodies>& forces,
                               Real (&a)[numbers]) {
    VOLTPILE_UNROLL
    for (int c = 0; c < numbers; ++c) a[c] = real<Real>(0);
    if (forces.potential != Potential::None) {
        for (int i = 0; i < bodies; ++i) {
            const Real pull = pull_of_center(forces, squared_length(x[3 * i], x[3 * i + 1], x[3 * i + 2]));
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
            const Real r2 = fma(d[2], d[2], fma(d[1], d[1], fma(d[0], d[0], forces.softening2)));
            const Real inverse = InverseCube<Real>::times(r2, forces.gravity);
            const Real to_j = inverse * forces.mass[j];
            const Real to_i = inverse * forces.mass[i];
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
