// The symplectic method of order 6: drifts and kicks in turn.
#pragma once

#include "sweep/symplectic_weights.h"
#include "threebody/method_info.h"
#include "threebody/system.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

struct SymplecticNystrom6 : SymplecticNystrom6Weights {
    static constexpr MethodInfo info = {
        .name = "srkn6",
        .order = 6,
        .force_evaluations = stages,
        .symplectic = true,
        .instructions = stages * weighted_forces_instructions + (stages + 1) * (drift_instructions + 2 * 3) +
                        separation_instructions,
        .threads = {},
        .help = "symplectic, order 6, 14 force evaluations per step",
    };

    template <class Real>
    static VOLTPILE_HD void start(System<Real>&, const StepConstants<Real>&) {}

    template <class Real>
    static VOLTPILE_HD void step(System<Real>& s, const StepConstants<Real>& constants) {
        stages_from<0>(s, constants);
    }

    template <class Real>
    static VOLTPILE_HD void synchronize(System<Real>&, const StepConstants<Real>&) {}

  private:
    template <int i, class Real>
    static VOLTPILE_HD void stages_from(System<Real>& s, const StepConstants<Real>& constants) {
        constexpr double a = drift_weight(i);
        drift(s, constants, a);
        if constexpr (i < stages) {
            constexpr double b = kick_weight(i);
            kick(s, constants, b);
            stages_from<i + 1>(s, constants);
        }
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
