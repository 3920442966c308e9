// Gragg-Bulirsch-Stoer extrapolation for forces that depend only on positions: Stoermer's rule with 1, 2, 3,
// 4 and 5 substeps, extrapolated to substeps of length 0 (E. Hairer, S. P. Norsett, G. Wanner, Solving
// Ordinary Differential Equations I, 2nd ed. 1993, section II.14). The order is fixed, so the extrapolation
// is a sum with constant weights and needs no table.
#pragma once

#include "sweep/inverse_cube.h"
#include "sweep/portable.h"

namespace voltpile {
inline namespace VOLTPILE_TARGET {

// Motion: has the members x and v, arrays of the same length: positions and velocities. Forces:
// accelerations(x, forces, a), found by argument-dependent lookup, computes the accelerations a at x.
struct Extrapolation10 {
    static constexpr int sequences = 5;  // with 1, 2, ... substeps

    // Advances `from` by h to `to`. error: the estimated errors of to.v. a: the accelerations at `from`.
    template <class Real, class Motion, class Forces, int numbers>
    static VOLTPILE_HD void extrapolate(const Motion& from, const Real (&a)[numbers], Real h,
                                        const Forces& forces, Motion& to, Real (&error)[numbers]) {
        VOLTPILE_UNROLL
        for (int c = 0; c < numbers; ++c) to.x[c] = to.v[c] = error[c] = real<Real>(0);
        add_sequences<1>(from, a, h, forces, to, error);
        VOLTPILE_UNROLL
        for (int c = 0; c < numbers; ++c) {
            to.x[c] = from.x[c] + fma(h, from.v[c], to.x[c]);
            to.v[c] = from.v[c] + to.v[c];
        }
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
    template <int n, class Real, class Motion, class Forces, int numbers>
    static VOLTPILE_HD void add_sequences(const Motion& from, const Real (&start)[numbers], Real h,
                                          const Forces& forces, Motion& to, Real (&error)[numbers]) {
        constexpr double full = weight(1, n);
        constexpr double difference = full - weight(2, n);
        const Real length = h * real<Real>(1.0 / n);
        const Real half = length * real<Real>(0.5);
        Real rate[numbers], sum[numbers], x[numbers],
            a[numbers];  // rate, sum: velocities and positions less uniform motion
        VOLTPILE_UNROLL
        for (int c = 0; c < numbers; ++c) {
            rate[c] = half * start[c];
            sum[c] = length * rate[c];
            x[c] = from.x[c] + fma(length, from.v[c], sum[c]);
        }
        accelerations(x, forces, a);
        for (int i = 2; i <= n; ++i) {
            const Real time = length * real<Real>(static_cast<double>(i));
            VOLTPILE_UNROLL
            for (int c = 0; c < numbers; ++c) {
                rate[c] = fma(length, a[c], rate[c]);
                sum[c] = fma(length, rate[c], sum[c]);
                x[c] = from.x[c] + fma(time, from.v[c], sum[c]);
            }
            accelerations(x, forces, a);
        }
        VOLTPILE_UNROLL
        for (int c = 0; c < numbers; ++c) {
            const Real v = fma(half, a[c], rate[c]);
            to.x[c] = fma(real<Real>(full), sum[c], to.x[c]);
            to.v[c] = fma(real<Real>(full), v, to.v[c]);
            error[c] = fma(real<Real>(difference), v, error[c]);
        }
        if constexpr (n < sequences) add_sequences<n + 1>(from, start, h, forces, to, error);
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
