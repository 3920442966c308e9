// Gragg-Bulirsch-Stoer extrapolation for forces that depend only on positions: Stoermer's rule with 1, 2, 3,
// 4 and 5 substeps, extrapolated to substeps of length 0 (E. Hairer, S. P. Norsett, G. Wanner, Solving
// Ordinary Differential Equations I, 2nd ed. 1993, section II.14). The order is fixed, so the extrapolation
// is a sum with constant weights and needs no table. Positions are those of a chain, which keeps the digits
// of close encounters.
#pragma once

#include "threebody/chain_motion.h"
#include "threebody/method_info.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

struct GraggBulirschStoer10 {
    static constexpr int sequences = 5;  // with 1, 2, ... substeps
    static constexpr MethodInfo info = {
        .name = "gbs10",
        .order = 2 * sequences,
        .force_evaluations = 1 + sequences * (sequences + 1) / 2,
        .symplectic = false,
        .adaptive = true,
        .chain = true,
        // Per system: forces, substeps, the five results and their sums, the center of the chain, the error;
        // then the test of the separation and the next step.
        .instructions = 2 * (16 * (3 + 3 * (3 + 6) + 6 + 18) + 15 * 6 * 4 + 5 * 6 * 7 + 45 + 30) + 120,
        .threads = {.fp64 = 256, .fp64_own_forces = 256},
        .help =
            "Gragg-Bulirsch-Stoer extrapolation, order 10, 16 force evaluations per step, for close "
            "encounters: every trajectory chooses its own steps as with rkn8, and distances keep their "
            "digits however small they are",
    };
    template <class Real>
    using Motion = ChainMotion<Real>;

    // Advances `from` by h to `to`, both without accelerations: computing them again costs less than
    // registers for them. error: the estimated errors of to.v.
    template <class Real>
    static VOLTPILE_HD void attempt(const ChainMotion<Real>& from, Real h,
                                    const PairConstants<Real>& constants, ChainMotion<Real>& to,
                                    Real (&error)[6]) {
        const ChainMasses<Real> masses = masses_of(from, constants);
        Real a[6];
        accelerations(from.x, masses, a);
        VOLTPILE_UNROLL
        for (int c = 0; c < 6; ++c) to.x[c] = to.v[c] = error[c] = real<Real>(0);
        add_sequences<1>(from, a, h, masses, to, error);
        VOLTPILE_UNROLL
        for (int c = 0; c < 6; ++c) {
            to.x[c] = from.x[c] + fma(h, from.v[c], to.x[c]);
            to.v[c] = from.v[c] + to.v[c];
        }
        to.center = from.center;
    }

  private:
    // The weight of n substeps in the extrapolation from `first`, ..., `sequences` substeps; errors are even
    // in the length of substeps.
    static VOLTPILE_HD constexpr double weight(int first, int n) {
        if (n < first) return 0;
        double product = 1;
        for (int i = first; i <= sequences; ++i) {
            if (i != n) product *= static_cast<double>(n * n) / (n * n - i * i);
        }
        return product;
    }

    // start: accelerations at `from`. Adds the weighted results of n and more substeps: to.x and to.v collect
    // what is added to uniform motion, `error` the difference to the extrapolation that leaves out one
    // substep.
    template <int n, class Real>
    static VOLTPILE_HD void add_sequences(const ChainMotion<Real>& from, const Real (&start)[6], Real h,
                                          const ChainMasses<Real>& masses, ChainMotion<Real>& to,
                                          Real (&error)[6]) {
        constexpr double full = weight(1, n);
        constexpr double difference = full - weight(2, n);
        const Real length = h * real<Real>(1.0 / n);
        const Real half = length * real<Real>(0.5);
        Real rate[6], sum[6], x[6], a[6];  // rate, sum: velocities and positions less uniform motion
        VOLTPILE_UNROLL
        for (int c = 0; c < 6; ++c) {
            rate[c] = half * start[c];
            sum[c] = length * rate[c];
            x[c] = from.x[c] + fma(length, from.v[c], sum[c]);
        }
        accelerations(x, masses, a);
        for (int i = 2; i <= n; ++i) {
            const Real time = length * real<Real>(static_cast<double>(i));
            VOLTPILE_UNROLL
            for (int c = 0; c < 6; ++c) {
                rate[c] = fma(length, a[c], rate[c]);
                sum[c] = fma(length, rate[c], sum[c]);
                x[c] = from.x[c] + fma(time, from.v[c], sum[c]);
            }
            accelerations(x, masses, a);
        }
        VOLTPILE_UNROLL
        for (int c = 0; c < 6; ++c) {
            const Real v = fma(half, a[c], rate[c]);
            to.x[c] = fma(real<Real>(full), sum[c], to.x[c]);
            to.v[c] = fma(real<Real>(full), v, to.v[c]);
            error[c] = fma(real<Real>(difference), v, error[c]);
        }
        if constexpr (n < sequences) add_sequences<n + 1>(from, start, h, masses, to, error);
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
