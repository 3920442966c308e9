// Computes the outcome of a point from its end.
#pragma once

#include <cmath>

#include "nbody/outcome.h"
#include "sweep/square_root.h"

namespace voltpile::nbody {
inline namespace VOLTPILE_TARGET {

// Numbers of a point.
struct PointNumbers {
    double G, softening, potential_mass, potential_scale, potential_frequency, potential_speed;
    double mass[kMostBodies];
};

VOLTPILE_HD double potential_energy(const Problem& problem, const PointNumbers& p, double r2) {
    const double scale2 = p.potential_scale * p.potential_scale;
    switch (problem.potential) {
        case Potential::None:
            break;
        case Potential::Point:
            return -p.G * p.potential_mass / square_root(r2);
        case Potential::Plummer:
            return -p.G * p.potential_mass / square_root(r2 + scale2);
        case Potential::Harmonic:
            return 0.5 * p.potential_frequency * p.potential_frequency * r2;
        case Potential::Logarithmic:
            return 0.5 * p.potential_speed * p.potential_speed * std::log(r2 + scale2);
    }
    return 0;
}

VOLTPILE_HD double squared(const double* of) {
    return of[0] * of[0] + of[1] * of[1] + of[2] * of[2];
}

VOLTPILE_HD double energy(const Problem& problem, const PointNumbers& p, const double* x, const double* v) {
    double sum = 0;
    for (int i = 0; i < problem.bodies; ++i) {
        sum += p.mass[i] * (0.5 * squared(v + 3 * i) + potential_energy(problem, p, squared(x + 3 * i)));
        for (int j = i + 1; j < problem.bodies; ++j) {
            const double d[3] = {x[3 * j] - x[3 * i], x[3 * j + 1] - x[3 * i + 1],
                                 x[3 * j + 2] - x[3 * i + 2]};
            const double product = p.G * p.mass[i] * p.mass[j];
            if (product > 0) sum -= product / square_root(squared(d) + p.softening * p.softening);
        }
    }
    return sum;
}

// About the fixed center if there is one, else about the center of mass.
struct AngularMomentum {
    double vector[3] = {};
    double bound = 0;  // sum of m |r| |v|
};

VOLTPILE_HD AngularMomentum angular_momentum(const Problem& problem, const PointNumbers& p, const double* x,
                                             const double* v) {
    double center[3] = {}, drift[3] = {}, total = 0;
    if (problem.potential == Potential::None) {
        for (int i = 0; i < problem.bodies; ++i) {
            total += p.mass[i];
            for (int c = 0; c < 3; ++c) {
                center[c] += p.mass[i] * x[3 * i + c];
                drift[c] += p.mass[i] * v[3 * i + c];
            }
        }
    }
    AngularMomentum sum;
    for (int i = 0; i < problem.bodies; ++i) {
        double r[3], u[3];
        for (int c = 0; c < 3; ++c) {
            r[c] = x[3 * i + c] - (total > 0 ? center[c] / total : 0);
            u[c] = v[3 * i + c] - (total > 0 ? drift[c] / total : 0);
        }
        for (int c = 0; c < 3; ++c) {
            const int c1 = (c + 1) % 3, c2 = (c + 2) % 3;
            sum.vector[c] += p.mass[i] * (r[c1] * u[c2] - r[c2] * u[c1]);
        }
        sum.bound += p.mass[i] * square_root(squared(r) * squared(u));
    }
    return sum;
}

VOLTPILE_HD Outcome compute_outcome(const Problem& problem, std::int64_t point, const PathEnd& end) {
    const auto number = [&](int which) { return number_at(problem, which, point); };
    PointNumbers p{number(kG),
                   number(kSoftening),
                   number(kPotentialMass),
                   number(kPotentialScale),
                   number(kPotentialFrequency),
                   number(kPotentialSpeed),
                   {}};
    double x[3 * kMostBodies], v[3 * kMostBodies];  // at the start
    for (int i = 0; i < problem.bodies; ++i) p.mass[i] = number(kFirstMass + i);
    for (int c = 0; c < 3 * problem.bodies; ++c) {
        x[c] = number(kFirstPosition + c) + (problem.double_double ? number(kFirstDisplacement + c) : 0.0);
        v[c] = number(kFirstVelocity + c);
    }

    Outcome outcome;
    outcome.status = static_cast<std::int32_t>(end.status);
    outcome.final_time = end.time;
    outcome.step_count = end.steps;
    for (int i = 0; i < problem.bodies; ++i) {
        for (int c = 0; c < 3; ++c) {
            outcome.final_state[6 * i + c] = end.x[3 * i + c];
            outcome.final_state[6 * i + 3 + c] = end.v[3 * i + c];
        }
    }
    outcome.closest_approach = square_root(end.closest_squared);
    outcome.closest_time = end.closest_time;
    outcome.closest_pair = static_cast<std::int32_t>(end.closest_pair);
    outcome.escaper = static_cast<std::int32_t>(end.escaper);
    outcome.steps_together = end.steps_together;
    outcome.time_together = end.time_together;
    outcome.lyapunov_exponent = end.lyapunov_exponent;
    outcome.megno = end.megno;

    const double before = energy(problem, p, x, v);
    const double change = std::fabs(energy(problem, p, end.x, end.v) - before);
    outcome.energy_error = before == 0 ? change : change / std::fabs(before);
    const AngularMomentum first = angular_momentum(problem, p, x, v);
    const AngularMomentum last = angular_momentum(problem, p, end.x, end.v);
    const double difference[3] = {last.vector[0] - first.vector[0], last.vector[1] - first.vector[1],
                                  last.vector[2] - first.vector[2]};
    const double length2 = squared(difference);
    outcome.angular_momentum_error = length2 == 0 ? 0 : square_root(length2) / last.bound;
    return outcome;
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::nbody
