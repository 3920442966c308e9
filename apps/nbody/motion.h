// The motion of n bodies, and how a point of the sweep begins.
#pragma once

#include "nbody/forces.h"

namespace voltpile::nbody {
inline namespace VOLTPILE_TARGET {

template <class Real, int bodies>
struct Motion {
    Real x[3 * bodies];
    Real v[3 * bodies];
    Real a[3 * bodies];  // at x
};

// Returns the motion of the first bodies; the others are those of a companion (companion.h).
template <int bodies, class Real>
VOLTPILE_HD const Motion<Real, bodies>& path_of(const Motion<Real, bodies>& motion) {
    return motion;
}
template <int bodies, class Real, int moving>
requires(moving > bodies) VOLTPILE_HD Motion<Real, bodies> path_of(const Motion<Real, moving>& motion) {
    Motion<Real, bodies> path;
    VOLTPILE_UNROLL
    for (int c = 0; c < 3 * bodies; ++c) {
        path.x[c] = motion.x[c];
        path.v[c] = motion.v[c];
        path.a[c] = motion.a[c];
    }
    return path;
}

template <class Real, int bodies>
VOLTPILE_HD void copy_lane(const Motion<Real, bodies>& from, Motion<Real, bodies>& to, int lane) {
    for (int c = 0; c < 3 * bodies; ++c) {
        to.x[c].set_lane(lane, from.x[c].lane(lane));
        to.v[c].set_lane(lane, from.v[c].lane(lane));
        to.a[c].set_lane(lane, from.a[c].lane(lane));
    }
}

// Numbers of a point that its forces depend on besides the masses.
template <class Value>
struct ForceNumbers {
    Value G, softening2;
    Value center, scale2, strength;  // G M, b^2, and w^2 or v^2
};

// Value: double, or DoubleDouble<double>.
template <class Value = double>
VOLTPILE_HD ForceNumbers<Value> force_numbers(const Problem& problem, std::int64_t point) {
    const auto number = [&](int which) { return Value(number_at(problem, which, point)); };
    const Value G = number(kG), softening = number(kSoftening);
    const Value scale = problem.potential == Potential::Point ? Value(0.0) : number(kPotentialScale);
    const Value rate =
        number(problem.potential == Potential::Harmonic ? kPotentialFrequency : kPotentialSpeed);
    return {G, softening * softening, G * number(kPotentialMass), scale * scale, rate * rate};
}

// Calls set(where, value) for each number of the forces but the masses.
template <class Real, class Value, class Set>
VOLTPILE_HD void set_forces(const ForceNumbers<Value>& numbers, Gravity<Real>& gravity, Center<Real>& center,
                            Set set) {
    set(gravity.softening2, numbers.softening2);
    set(center.scale2, numbers.scale2);
    set(center.strength, numbers.strength);
    VOLTPILE_UNROLL
    for (int term = 0; term < InverseCube<Real>::terms; ++term) {
        set(gravity.terms[term], numbers.G * Value(InverseCube<Real>::series(term)));
        set(center.terms[term], numbers.center * Value(InverseCube<Real>::series(term)));
    }
}

// For set_forces and the like: sets one lane.
template <class Real>
struct SetLane {
    int lane;
    template <class Value>
    VOLTPILE_HD void operator()(Real& where, Value value) const {
        where.set_lane(lane, typename Real::Scalar(value));
    }
};

// Returns a coordinate of the start of a point, x, y, z of each body.
template <class Value>
VOLTPILE_HD Value position_at(const Problem& problem, int coordinate, std::int64_t point) {
    const Value position(number_at(problem, kFirstPosition + coordinate, point));
    if constexpr (sizeof(Value) == sizeof(double))
        return position;
    else
        return position + Value(number_at(problem, kFirstDisplacement + coordinate, point));
}

// Sets a lane to the start of a point, without accelerations. motion: its first bodies are set.
template <class Real, int bodies, int moving>
VOLTPILE_HD void begin_lane(const Problem& problem, std::int64_t point, int lane,
                            Motion<Real, moving>& motion, Forces<Real, bodies>& forces) {
    forces.potential = problem.potential;
    using Value = typename Real::Scalar;
    const SetLane<Real> set{lane};
    set_forces(force_numbers<Value>(problem, point), forces.gravity, forces.center, set);
    for (int i = 0; i < bodies; ++i) set(forces.mass[i], number_at(problem, kFirstMass + i, point));
    for (int c = 0; c < 3 * bodies; ++c) {
        set(motion.x[c], position_at<Value>(problem, c, point));
        set(motion.v[c], number_at(problem, kFirstVelocity + c, point));
    }
}

// Returns a number that is finite if all positions and velocities are.
template <class Real, int bodies>
VOLTPILE_HD Real sum_of_coordinates(const Motion<Real, bodies>& motion) {
    Real sum = real<Real>(0);
    VOLTPILE_UNROLL
    for (int c = 0; c < 3 * bodies; ++c) sum = sum + (motion.x[c] + motion.v[c]);
    return sum;
}

// Returns the lanes, one bit each, whose positions and velocities are finite.
template <class Real, int bodies>
VOLTPILE_HD unsigned finite_lanes(const Motion<Real, bodies>& motion) {
    const Real sum = sum_of_coordinates(motion);
    return lanes_not_above(sum - sum, real<Real>(0));
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::nbody
