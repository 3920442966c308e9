// Leapfrog, kick-drift-kick: symplectic, second order. The closing half kick of a step and the opening half
// kick of the next are merged, so a step costs one evaluation of the forces.
#pragma once

#include "threebody/method_info.h"
#include "threebody/system.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

struct Leapfrog {
    static constexpr MethodInfo info = {
        .name = "leapfrog",
        .order = 2,
        .force_evaluations = 1,
        .symplectic = true,
        .instructions = forces_instructions + drift_instructions + separation_instructions,
        .threads = {},
        .help = "symplectic, order 2, same cost: one force evaluation per step",
        .double_double = true,
    };

    template <class Real>
    static VOLTPILE_HD void start(System<Real>& s, const StepConstants<Real>& constants) {
        kick(s, constants, 0.5);
    }

    template <class Real>
    static VOLTPILE_HD void step(System<Real>& s, const StepConstants<Real>& constants) {
        drift(s, constants);
        kick(s, constants);
    }

    template <class Real>
    static VOLTPILE_HD void synchronize(System<Real>& s, const StepConstants<Real>& constants) {
        kick(s, constants, -0.5);
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
