// Explicit Euler, the recurrence of the published picture: positions advance with the OLD momenta. It exists
// to reproduce that picture; it is not a good integrator.
#pragma once

#include "threebody/method_info.h"
#include "threebody/system.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

struct Euler {
    static constexpr MethodInfo info = {
        .name = "euler",
        .order = 1,
        .force_evaluations = 1,
        .symplectic = false,
        .instructions = forces_instructions + drift_instructions + separation_instructions,
        .threads = {},
        .help = "explicit, order 1, used by the published map; its energy drifts",
        .double_double = true,
    };

    // Moves momenta from the time of the positions to the time that `step` expects.
    template <class Real>
    static VOLTPILE_HD void start(System<Real>&, const StepConstants<Real>&) {}

    template <class Real>
    static VOLTPILE_HD void step(System<Real>& s, const StepConstants<Real>& constants) {
        const PairForces<Real> forces = pair_forces(s.x, constants);
        drift(s, constants);
        kick(s.p, forces);
    }

    // Undoes `start`: moves momenta back to the time of the positions.
    template <class Real>
    static VOLTPILE_HD void synchronize(System<Real>&, const StepConstants<Real>&) {}
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
