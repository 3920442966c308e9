// Computes the values of one point of the sweep and the pair of systems that starts from them.
#pragma once

#include "sweep/portable.h"
#include "threebody/problem.h"
#include "threebody/system.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

VOLTPILE_HD Parameters parameters_at(const Problem& problem, std::int64_t point) {
    Parameters p;
    const auto* sources = reinterpret_cast<const ParameterSource*>(&problem.sources);
    for (int i = 0; i < parameter_count; ++i) reinterpret_cast<double*>(&p)[i] = value_at(sources[i], point);
    return p;
}

VOLTPILE_HD std::int32_t step_count(const Parameters& p) {
    return static_cast<std::int32_t>(p.steps + 0.5);
}

// Calls set(where, value) for each constant: Assign for plain numbers, one lane for packs.
template <class Real, class Set>
VOLTPILE_HD void set_step_constants(const Parameters& p, StepConstants<Real>& constants, Set set) {
    VOLTPILE_UNROLL
    for (int pair = 0; pair < 3; ++pair) {
        const double strength = p.G * p.mass[first_of(pair)] * p.mass[second_of(pair)] * p.dt;
        VOLTPILE_UNROLL
        for (int term = 0; term < InverseCube<Real>::terms; ++term) {
            set(constants.kick[pair][term], strength * InverseCube<Real>::series(term));
        }
    }
    VOLTPILE_UNROLL
    for (int i = 0; i < 3; ++i) set(constants.drift[i], p.dt / p.mass[i]);
}

template <class Real>
struct Assign {
    VOLTPILE_HD void operator()(Real& where, double value) const { where = static_cast<Real>(value); }
};

// Sets the first system and its twin to state 0, with momenta at the time of the positions.
template <class Real>
VOLTPILE_HD void initial_pair(const Parameters& p, System<Real>& first, System<Real>& twin) {
    VOLTPILE_UNROLL
    for (int i = 0; i < 3; ++i) {
        VOLTPILE_UNROLL
        for (int c = 0; c < 3; ++c) {
            const double shifted = i == 0 ? p.position[i][c] + p.twin_shift[c] : p.position[i][c];
            first.x[i][c] = static_cast<Real>(p.position[i][c]);
            twin.x[i][c] = static_cast<Real>(shifted);
            first.p[i][c] = twin.p[i][c] = static_cast<Real>(p.mass[i] * p.velocity[i][c]);
        }
    }
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
