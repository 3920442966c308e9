// The adaptive method of order 8 for a pair of systems.
#pragma once

#include "sweep/nystrom8.h"
#include "threebody/method_info.h"
#include "threebody/relative_motion.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

struct RungeKuttaNystrom8 : Nystrom8 {
    static constexpr MethodInfo info = {
        .name = "rkn8",
        .order = 8,
        .force_evaluations = 8,
        .symplectic = false,
        .adaptive = true,
        // Per system: forces, sums of the stages (42 coefficients), their positions, the velocities'
        // increment and error; then the test of the separation and the next step.
        .instructions = 2 * (8 * (3 + 3 * (3 + 6) + 6 + 18) + 6 * (42 + 8 * 2) + 6 * (7 + 1 + 8) + 30) + 120,
        .threads = {.fp64 = 256, .fp64_own_forces = 256},
        .help =
            "Runge-Kutta-Nystrom, order 8, eight force evaluations per step; every trajectory chooses its "
            "own steps so that their errors stay below integrate.tolerance",
        .double_double = true,
    };

    template <class Real>
    using Motion = RelativeMotion<Real>;
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
