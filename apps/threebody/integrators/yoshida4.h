// Yoshida's fourth-order composition of three leapfrog steps of lengths w1, w0, w1 (H. Yoshida, Phys. Lett. A
// 150, 262, 1990), symplectic; adjoining kicks are merged.
#pragma once

#include "sweep/symplectic_weights.h"
#include "threebody/method_info.h"
#include "threebody/system.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

struct Yoshida4 : Yoshida4Weights {
    static constexpr MethodInfo info = {
        .name = "yoshida4",
        .order = 4,
        .force_evaluations = 3,
        .symplectic = true,
        .instructions = 3 * (weighted_forces_instructions + drift_instructions) + separation_instructions,
        .threads = {},
        .help = "symplectic, order 4, three force evaluations per step",
    };

    template <class Real>
    static VOLTPILE_HD void start(System<Real>& s, const StepConstants<Real>& constants) {
        kick(s, constants, 0.5 * w1);
    }

    template <class Real>
    static VOLTPILE_HD void step(System<Real>& s, const StepConstants<Real>& constants) {
        drift(s, constants, w1);
        kick(s, constants, 0.5 * (w1 + w0));
        drift(s, constants, w0);
        kick(s, constants, 0.5 * (w0 + w1));
        drift(s, constants, w1);
        kick(s, constants, w1);
    }

    template <class Real>
    static VOLTPILE_HD void synchronize(System<Real>& s, const StepConstants<Real>& constants) {
        kick(s, constants, -0.5 * w1);
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
