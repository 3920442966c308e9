// Gragg-Bulirsch-Stoer extrapolation of order 10 for a pair of systems. Positions are those of a chain, which
// keeps the digits of close encounters.
#pragma once

#include "sweep/extrapolation10.h"
#include "threebody/chain_motion.h"
#include "threebody/method_info.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

struct GraggBulirschStoer10 : Extrapolation10 {
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
        extrapolate(from, a, h, masses, to, error);
        to.center = from.center;
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
