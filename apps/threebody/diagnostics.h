// Diagnostics of the first system of a pair: energy and closest approach. Always in double, from the state in
// its own precision.
#pragma once

#include "sweep/portable.h"
#include "sweep/select.h"
#include "sweep/square_root.h"
#include "threebody/outcome.h"
#include "threebody/parameters.h"
#include "threebody/system.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

VOLTPILE_HD double total_energy(const System<double>& s, double G, const double (&mass)[3]) {
    double kinetic = 0;
    double potential = 0;
    VOLTPILE_UNROLL
    for (int i = 0; i < 3; ++i) {
        kinetic = kinetic + squared_length(s.p[i][0], s.p[i][1], s.p[i][2]) / (2.0 * mass[i]);
    }
    VOLTPILE_UNROLL
    for (int pair = 0; pair < 3; ++pair) {
        const int i = first_of(pair);
        const int j = second_of(pair);
        const double r2 = squared_length(s.x[j][0] - s.x[i][0], s.x[j][1] - s.x[i][1], s.x[j][2] - s.x[i][2]);
        potential = potential - G * mass[i] * mass[j] / square_root(r2);
    }
    return kinetic + potential;
}

// Returns the squared distance of the two nearest bodies.
template <class Real>
VOLTPILE_HD Real smallest_squared_distance(const Real (&x)[3][3]) {
    Real smallest = squared_length(x[1][0] - x[0][0], x[1][1] - x[0][1], x[1][2] - x[0][2]);
    smallest = smaller(smallest, squared_length(x[2][0] - x[0][0], x[2][1] - x[0][1], x[2][2] - x[0][2]));
    return smaller(smallest, squared_length(x[2][0] - x[1][0], x[2][1] - x[1][1], x[2][2] - x[1][2]));
}

template <class Real>
VOLTPILE_HD System<double> to_double(const System<Real>& s) {
    System<double> result;
    VOLTPILE_UNROLL
    for (int i = 0; i < 3; ++i) {
        VOLTPILE_UNROLL
        for (int c = 0; c < 3; ++c) {
            result.x[i][c] = static_cast<double>(s.x[i][c]);
            result.p[i][c] = static_cast<double>(s.p[i][c]);
        }
    }
    return result;
}

// state: synchronized. Recomputes the initial energy from the parameters, so that it need not be stored.
template <class Real>
VOLTPILE_HD double energy_error(const Parameters& parameters, const System<double>& state) {
    System<Real> first, twin;
    initial_pair(parameters, first, twin);
    const double before = total_energy(to_double(first), parameters.G, parameters.mass);
    const double after = total_energy(state, parameters.G, parameters.mass);
    const double error = (after - before) / before;
    return error < 0 ? -error : error;
}

// The angular momentum about the center of mass, and the sum of m |r| |v|, which bounds its length.
struct AngularMomentum {
    double vector[3] = {};
    double bound = 0;
};

VOLTPILE_HD AngularMomentum angular_momentum(const System<double>& s, const double (&mass)[3]) {
    const double total = mass[0] + mass[1] + mass[2];
    double center[3], velocity[3];
    VOLTPILE_UNROLL
    for (int c = 0; c < 3; ++c) {
        center[c] = (mass[0] * s.x[0][c] + mass[1] * s.x[1][c] + mass[2] * s.x[2][c]) / total;
        velocity[c] = (s.p[0][c] + s.p[1][c] + s.p[2][c]) / total;
    }
    AngularMomentum sum;
    VOLTPILE_UNROLL
    for (int i = 0; i < 3; ++i) {
        double x[3], p[3];
        VOLTPILE_UNROLL
        for (int c = 0; c < 3; ++c) {
            x[c] = s.x[i][c] - center[c];
            p[c] = s.p[i][c] - mass[i] * velocity[c];
        }
        VOLTPILE_UNROLL
        for (int c = 0; c < 3; ++c) {
            const int c1 = (c + 1) % 3;
            const int c2 = (c + 2) % 3;
            sum.vector[c] = sum.vector[c] + (x[c1] * p[c2] - x[c2] * p[c1]);
        }
        sum.bound =
            sum.bound + square_root(squared_length(x[0], x[1], x[2]) * squared_length(p[0], p[1], p[2]));
    }
    return sum;
}

// state: synchronized. Not relative to the initial angular momentum, because that is zero for bodies at rest.
template <class Real>
VOLTPILE_HD double angular_momentum_error(const Parameters& parameters, const System<double>& state) {
    System<Real> first, twin;
    initial_pair(parameters, first, twin);
    const AngularMomentum before = angular_momentum(to_double(first), parameters.mass);
    const AngularMomentum after = angular_momentum(state, parameters.mass);
    const double squared =
        squared_length(after.vector[0] - before.vector[0], after.vector[1] - before.vector[1],
                       after.vector[2] - before.vector[2]);
    return squared == 0 ? 0 : square_root(squared) / after.bound;
}

// Sets the fields of a method of fixed steps that depend only on the number of steps done.
VOLTPILE_HD void set_fixed_step_count(const Parameters& parameters, std::int32_t steps, Outcome& outcome) {
    outcome.steps_together = outcome.step_count = steps;
    outcome.time_together = steps * parameters.dt;
    outcome.quality = static_cast<std::int32_t>(Quality::Complete);
}

// Sets the fields that are computed from the first system's final state, which is synchronized.
template <class Real>
VOLTPILE_HD void set_state_fields(const Parameters& parameters, const System<double>& state,
                                  Outcome& outcome) {
    VOLTPILE_UNROLL
    for (int i = 0; i < 3; ++i) {
        VOLTPILE_UNROLL
        for (int c = 0; c < 3; ++c) {
            outcome.final_state[6 * i + c] = state.x[i][c];
            outcome.final_state[6 * i + 3 + c] = state.p[i][c] / parameters.mass[i];
        }
    }
    outcome.energy_error = energy_error<Real>(parameters, state);
    outcome.angular_momentum_error = angular_momentum_error<Real>(parameters, state);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
