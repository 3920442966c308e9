// The classical Runge-Kutta method of fourth order, in its form for forces that depend only on positions:
// with k1..k4 the impulses within dt at the four positions
//     x2 = x + h/2 p/m,  x3 = x2 + h/4 k1/m,  x4 = x + h (p + k2/2)/m
//     x' = x + h (p + (k1 + k2 + k3)/6)/m,    p' = p + (k1 + 2 k2 + 2 k3 + k4)/6
#pragma once

#include "threebody/method_info.h"
#include "threebody/system.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

struct RungeKutta4 {
    static constexpr MethodInfo info = {
        .name = "rk4",
        .order = 4,
        .force_evaluations = 4,
        .symplectic = false,
        // The impulses' sums take two multiplications less than the kicks; then the four combinations.
        .instructions = 4 * (forces_instructions - 2 * 3 * 6 + 2 * 9 * 2) + 2 * (9 + 18 + 36 + 45) +
                        separation_instructions,
        .threads = {.fp64 = 256, .fp64_own_forces = 256},
        .help = "Runge-Kutta, order 4, four force evaluations per step",
    };

    template <class Real>
    static VOLTPILE_HD void start(System<Real>&, const StepConstants<Real>&) {}

    template <class Real>
    static VOLTPILE_HD void step(System<Real>& s, const StepConstants<Real>& constants) {
        Real k[3][3], sum[3][3], x[3][3];  // sum: k1 + k2 + k3

        impulses(s.x, constants, k);
        VOLTPILE_UNROLL
        for (int i = 0; i < 3; ++i) {
            const Real half = constants.drift[i] * real<Real>(0.5);
            VOLTPILE_UNROLL
            for (int c = 0; c < 3; ++c) {
                sum[i][c] = k[i][c];
                x[i][c] = fma(half, s.p[i][c], s.x[i][c]);
            }
        }
        Real k2[3][3];
        impulses(x, constants, k2);
        VOLTPILE_UNROLL
        for (int i = 0; i < 3; ++i) {
            const Real quarter = constants.drift[i] * real<Real>(0.25);
            VOLTPILE_UNROLL
            for (int c = 0; c < 3; ++c) {
                x[i][c] = fma(quarter, k[i][c], x[i][c]);
                sum[i][c] = sum[i][c] + k2[i][c];
            }
        }
        impulses(x, constants, k);  // k3
        VOLTPILE_UNROLL
        for (int i = 0; i < 3; ++i) {
            VOLTPILE_UNROLL
            for (int c = 0; c < 3; ++c) {
                sum[i][c] = sum[i][c] + k[i][c];
                k[i][c] = k[i][c] + k2[i][c];  // k2 + k3: the difference of the two sums, except for k4
                x[i][c] = fma(constants.drift[i], fma(k2[i][c], real<Real>(0.5), s.p[i][c]), s.x[i][c]);
            }
        }
        impulses(x, constants, k2);  // k4
        const Real sixth = real<Real>(1.0 / 6.0);
        VOLTPILE_UNROLL
        for (int i = 0; i < 3; ++i) {
            VOLTPILE_UNROLL
            for (int c = 0; c < 3; ++c) {
                s.x[i][c] = fma(constants.drift[i], fma(sum[i][c], sixth, s.p[i][c]), s.x[i][c]);
                s.p[i][c] = fma(sum[i][c] + k[i][c] + k2[i][c], sixth, s.p[i][c]);
            }
        }
    }

    template <class Real>
    static VOLTPILE_HD void synchronize(System<Real>&, const StepConstants<Real>&) {}

  private:
    // Computes the impulse of each body within dt at positions x.
    template <class Real>
    static VOLTPILE_HD void impulses(const Real (&x)[3][3], const StepConstants<Real>& constants,
                                     Real (&k)[3][3]) {
        const PairForces<Real> f = pair_forces(x, constants);
        VOLTPILE_UNROLL
        for (int c = 0; c < 3; ++c) {
            k[0][c] = fma(f.impulse[1], f.d[1][c], f.impulse[0] * f.d[0][c]);
            k[1][c] = fnma(f.impulse[0], f.d[0][c], f.impulse[2] * f.d[2][c]);
            k[2][c] = fnma(f.impulse[2], f.d[2][c], -(f.impulse[1] * f.d[1][c]));
        }
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
