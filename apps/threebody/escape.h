// Whether a body leaves the other two forever: a sufficient condition in the manner of E. M. Standish
// (Sufficient conditions for escape in the three-body problem, Celestial Mechanics 4, 44, 1971).
//
// If the total energy E about the center of mass is negative, the two nearest bodies are never further apart
// than a = G (m1 m2 + m1 m3 + m2 m3) / |E|. Let r be the distance of two bodies, and rho that of the third
// from their center of mass. While r <= a and rho > 2 a these two stay the nearest ones, and rho'' >= -G M /
// (rho - a)^2 with M the total mass. So if also rho' > 0 and rho'^2 / 2 >= G M / (rho - a), rho grows without
// bound.
#pragma once

#include "sweep/select.h"
#include "threebody/encounter.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

template <class Real>
struct Escape {
    Real reach;  // a; infinite if the energy is not negative
    Real time;   // the end of the first step at which the condition holds; infinite: at none so far
    Real body;   // 1, 2 or 3; 0: none so far
};

template <class Real>
VOLTPILE_HD Real gravitational_constant(const PairConstants<Real>& constants) {
    return constants.gravity[0] * real<Real>(1 / InverseCube<Real>::series(0));
}

template <class Real>
VOLTPILE_HD Escape<Real> no_escape(const RelativeMotion<Real>& start, const PairConstants<Real>& constants) {
    const Real zero = real<Real>(0);
    const Real infinity = real<Real>(__builtin_inf());
    const Real mass1 = constants.mass12 - constants.mass2;
    const Real products[3] = {mass1 * constants.mass2, mass1 * constants.mass3,
                              constants.mass2 * constants.mass3};
    const Real total = constants.mass12 + constants.mass3;
    Real potential = zero;  // less its sign
    Real kinetic = zero;    // times twice the total mass
    VOLTPILE_UNROLL
    for (int pair = 0; pair < 3; ++pair) {
        Real d[3], v[3];
        VOLTPILE_UNROLL
        for (int c = 0; c < 3; ++c) {
            d[c] = pair_component(start.x, pair, c);
            v[c] = pair_component(start.v, pair, c);
        }
        const Real r2 = squared_length(d[0], d[1], d[2]);
        potential = fma(products[pair] * r2, InverseCube<Real>::times(r2, constants.gravity), potential);
        kinetic = fma(products[pair], squared_length(v[0], v[1], v[2]), kinetic);
    }
    const Real binding = potential - kinetic / (total + total);
    const Real reach =
        gravitational_constant(constants) * (products[0] + products[1] + products[2]) / binding;
    return {select_below(zero, binding, reach, infinity), infinity, zero};
}

// Notes the first escape. at: the motion at `time`. taken: 1, or 0 in lanes where nothing is noted.
template <class Real>
VOLTPILE_HD void note_escape(Escape<Real>& escape, const RelativeMotion<Real>& at, Real time, Real taken,
                             const PairConstants<Real>& constants) {
    const Real zero = real<Real>(0);
    const Real one = real<Real>(1);
    const Real total = constants.mass12 + constants.mass3;
    const Real mass23 = constants.mass2 + constants.mass3;
    // The third body's place relative to the center of the pair is to2 (x2 - x1) + to3 (x3 - x1).
    const Real to2[3] = {-constants.mass2 / constants.mass12, one, -constants.mass2 / mass23};
    const Real to3[3] = {one, -constants.mass3 / constants.mass13, -constants.mass3 / mass23};
    const Real reach2 = escape.reach * escape.reach;
    const Real strength = gravitational_constant(constants);
    // 1 in lanes where nothing has escaped.
    const Real pending = select_below(escape.time, real<Real>(__builtin_inf()), zero, taken);
    VOLTPILE_UNROLL
    for (int pair = 0; pair < 3; ++pair) {
        Real d[3], x[3], v[3];
        VOLTPILE_UNROLL
        for (int c = 0; c < 3; ++c) {
            d[c] = pair_component(at.x, pair, c);
            x[c] = fma(to2[pair], at.x[c], to3[pair] * at.x[3 + c]);
            v[c] = fma(to2[pair], at.v[c], to3[pair] * at.v[3 + c]);
        }
        const Real rho2 = squared_length(x[0], x[1], x[2]);
        const Real rate = fma(x[2], v[2], fma(x[1], v[1], x[0] * v[0]));  // rho rho'
        const Real rho = rho2 * rho2 * InverseCube<Real>::times(rho2, constants.gravity) / strength;
        // rho'^2 (rho - a) and 2 G M, both times rho^2.
        const Real kinetic = rate * rate * (rho - escape.reach);
        const Real needed = (strength + strength) * total * rho2;
        const Real unbound = select_not_above(needed, kinetic, pending, zero);
        const Real receding = select_below(zero, rate, unbound, zero);
        const Real far = select_below(real<Real>(4) * reach2, rho2, receding, zero);
        const Real escapes = select_not_above(squared_length(d[0], d[1], d[2]), reach2, far, zero);
        escape.time = select_below(zero, escapes, time, escape.time);
        escape.body = select_below(zero, escapes, real<Real>(3.0 - pair), escape.body);
    }
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
