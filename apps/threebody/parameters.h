// Computes the values of one point of the sweep and the pair of systems that starts from them.
#pragma once

#include "sweep/portable.h"
#include "threebody/problem.h"
#include "threebody/system.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

// The type of a point's values for a computation in Real: starts and constants of a pair in double-double
// would gain nothing if they were rounded to double before.
template <class Real>
struct ValueOf {
    using type = double;
};

// Returns the values of one point, computed in Number.
template <class Number>
VOLTPILE_HD ParameterSet<Number> parameters_in(const Problem& problem, std::int64_t point) {
    ParameterSet<Number> p;
    const auto* sources = reinterpret_cast<const ParameterSource*>(&problem.sources);
    VOLTPILE_UNROLL
    for (int i = 0; i < parameter_count; ++i)
        reinterpret_cast<Number*>(&p)[i] = value_in<Number>(sources[i], point);
    return p;
}

VOLTPILE_HD Parameters parameters_at(const Problem& problem, std::int64_t point) {
    return parameters_in<double>(problem, point);
}

template <class Number>
VOLTPILE_HD std::int32_t step_count(const ParameterSet<Number>& p) {
    return static_cast<std::int32_t>(static_cast<double>(p.steps) + 0.5);
}

// Returns where a body of the first system starts.
template <class Number>
VOLTPILE_HD Number start_position(const ParameterSet<Number>& p, int body, int component) {
    const Number at = p.position[body][component];
    return body == 0 ? at + p.displacement[component] : at;
}

// Calls set(where, value) for each constant: Assign for plain numbers, one lane for packs.
template <class Number, class Real, class Set>
VOLTPILE_HD void set_step_constants(const ParameterSet<Number>& p, StepConstants<Real>& constants, Set set) {
    VOLTPILE_UNROLL
    for (int pair = 0; pair < 3; ++pair) {
        const Number strength = p.G * p.mass[first_of(pair)] * p.mass[second_of(pair)] * p.dt;
        VOLTPILE_UNROLL
        for (int term = 0; term < InverseCube<Real>::terms; ++term) {
            set(constants.kick[pair][term], strength * Number(InverseCube<Real>::series(term)));
        }
    }
    VOLTPILE_UNROLL
    for (int i = 0; i < 3; ++i) set(constants.drift[i], p.dt / p.mass[i]);
}

template <class Real>
struct Assign {
    template <class Number>
    VOLTPILE_HD void operator()(Real& where, Number value) const {
        where = static_cast<Real>(value);
    }
};

// Sets the first system and its twin to state 0, with momenta at the time of the positions.
template <class Number, class Real>
VOLTPILE_HD void initial_pair(const ParameterSet<Number>& p, System<Real>& first, System<Real>& twin) {
    VOLTPILE_UNROLL
    for (int i = 0; i < 3; ++i) {
        VOLTPILE_UNROLL
        for (int c = 0; c < 3; ++c) {
            const Number at = start_position(p, i, c);
            const Number shifted = i == 0 ? at + p.twin_shift[c] : at;
            first.x[i][c] = static_cast<Real>(at);
            twin.x[i][c] = static_cast<Real>(shifted);
            first.p[i][c] = twin.p[i][c] = static_cast<Real>(p.mass[i] * p.velocity[i][c]);
        }
    }
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
