// Methods of fixed steps for n bodies. Forces: accelerations(x, forces, a) computes the accelerations at x.
#pragma once

#include "nbody/motion.h"
#include "sweep/symplectic_weights.h"

namespace voltpile::nbody {
inline namespace VOLTPILE_TARGET {

// A symplectic method: a kick of kick[0] steps, then `stages` times a drift and a kick, then a drift.
struct Composition {
    static constexpr int most_stages = 14;
    int stages = 0;
    double kick[most_stages + 1] = {};
    double drift[most_stages + 1] = {};

    VOLTPILE_HD explicit Composition(Method method) {
        using Y = Yoshida4Weights;
        using S = SymplecticNystrom6Weights;
        if (method == Method::Leapfrog) {
            stages = 1;
            kick[0] = kick[1] = 0.5;
            drift[0] = 1;
        } else if (method == Method::Yoshida4) {
            stages = 3;
            kick[0] = kick[3] = 0.5 * Y::w1;
            kick[1] = kick[2] = 0.5 * (Y::w1 + Y::w0);
            drift[0] = drift[2] = Y::w1;
            drift[1] = Y::w0;
        } else if (method == Method::SymplecticNystrom6) {
            stages = S::stages;
            for (int i = 0; i < S::stages; ++i) kick[i + 1] = S::kick_weight(i);
            for (int i = 0; i <= S::stages; ++i) drift[i] = S::drift_weight(i);
        }
    }
};

// to += h of
template <class Real, int numbers>
VOLTPILE_HD void add(Real h, const Real (&of)[numbers], Real (&to)[numbers]) {
    VOLTPILE_UNROLL
    for (int c = 0; c < numbers; ++c) to[c] = fma(h, of[c], to[c]);
}

template <class Real, int bodies, class Forces>
VOLTPILE_HD void composed_step(Motion<Real, bodies>& m, Real h, const Forces& forces,
                               const Composition& method) {
    if (method.kick[0] != 0) add(h * real<Real>(method.kick[0]), m.a, m.v);
    for (int stage = 0; stage < method.stages; ++stage) {
        add(h * real<Real>(method.drift[stage]), m.v, m.x);
        accelerations(m.x, forces, m.a);
        add(h * real<Real>(method.kick[stage + 1]), m.a, m.v);
    }
    if (method.drift[method.stages] != 0) add(h * real<Real>(method.drift[method.stages]), m.v, m.x);
}

// Explicit Euler: positions advance with the old velocities.
template <class Real, int bodies, class Forces>
VOLTPILE_HD void euler_step(Motion<Real, bodies>& m, Real h, const Forces& forces) {
    add(h, m.v, m.x);
    add(h, m.a, m.v);
    accelerations(m.x, forces, m.a);
}

// The classical Runge-Kutta method of order 4 for forces that depend only on positions: with the
// accelerations k1..k4 at the four positions
//     x2 = x + h/2 v,  x3 = x2 + h^2/4 k1,  x4 = x + h v + h^2/2 k2
//     x' = x + h v + h^2/6 (k1 + k2 + k3),  v' = v + h/6 (k1 + 2 k2 + 2 k3 + k4)
template <class Real, int bodies, class Forces>
VOLTPILE_HD void runge_kutta_step(Motion<Real, bodies>& m, Real h, const Forces& forces) {
    constexpr int numbers = 3 * bodies;
    const Real half = h * real<Real>(0.5), quarter = half * half, sixth = h * real<Real>(1.0 / 6.0);
    Real x[numbers], k[numbers], sum[numbers], twice[numbers];  // k1 + k2 + k3, 2 k2 + 2 k3
    accelerations(m.x, forces, k);
    VOLTPILE_UNROLL
    for (int c = 0; c < numbers; ++c) {
        m.a[c] = sum[c] = k[c];
        x[c] = fma(half, m.v[c], m.x[c]);
    }
    accelerations(x, forces, k);
    VOLTPILE_UNROLL
    for (int c = 0; c < numbers; ++c) {
        x[c] = fma(quarter, m.a[c], x[c]);
        sum[c] = sum[c] + k[c];
        twice[c] = k[c];
    }
    Real k3[numbers];
    accelerations(x, forces, k3);
    VOLTPILE_UNROLL
    for (int c = 0; c < numbers; ++c) {
        x[c] = fma(h, fma(half, k[c], m.v[c]), m.x[c]);
        sum[c] = sum[c] + k3[c];
        twice[c] = twice[c] + k3[c];
    }
    accelerations(x, forces, k);
    VOLTPILE_UNROLL
    for (int c = 0; c < numbers; ++c) {
        m.x[c] = fma(h, fma(sixth, sum[c], m.v[c]), m.x[c]);
        m.v[c] = fma(sixth, fma(real<Real>(2), twice[c], m.a[c] + k[c]), m.v[c]);
    }
}

template <class Real, int bodies, class Forces>
VOLTPILE_HD void fixed_step(Method method, const Composition& composition, Motion<Real, bodies>& m, Real h,
                            const Forces& forces) {
    switch (method) {
        case Method::Euler:
            return euler_step(m, h, forces);
        case Method::RungeKutta4:
            return runge_kutta_step(m, h, forces);
        default:
            return composed_step(m, h, forces, composition);
    }
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::nbody
