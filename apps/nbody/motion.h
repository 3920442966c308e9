// The motion of n bodies in SIMD lanes, and how a point of the sweep begins. Only for sources that
// voltpile_cpu_kernels compiles.
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

template <class Real, int bodies>
VOLTPILE_HD void copy_lane(const Motion<Real, bodies>& from, Motion<Real, bodies>& to, int lane) {
    for (int c = 0; c < 3 * bodies; ++c) {
        to.x[c].set_lane(lane, from.x[c].lane(lane));
        to.v[c].set_lane(lane, from.v[c].lane(lane));
        to.a[c].set_lane(lane, from.a[c].lane(lane));
    }
}

// Sets a lane to the start of a point, without accelerations.
template <class Real, int bodies>
VOLTPILE_HD void begin_lane(const Problem& problem, std::int64_t point, int lane,
                            Motion<Real, bodies>& motion, Forces<Real, bodies>& forces) {
    const double G = number_at(problem, kG, point);
    const double softening = number_at(problem, kSoftening, point);
    const double scale =
        problem.potential == Potential::Point ? 0.0 : number_at(problem, kPotentialScale, point);
    const double rate = problem.potential == Potential::Harmonic
                            ? number_at(problem, kPotentialFrequency, point)
                            : number_at(problem, kPotentialSpeed, point);
    const double center = G * number_at(problem, kPotentialMass, point);
    forces.potential = problem.potential;
    forces.softening2.set_lane(lane, softening * softening);
    forces.scale2.set_lane(lane, scale * scale);
    forces.strength.set_lane(lane, rate * rate);
    for (int term = 0; term < InverseCube<Real>::terms; ++term) {
        forces.gravity[term].set_lane(lane, G * InverseCube<Real>::series(term));
        forces.center[term].set_lane(lane, center * InverseCube<Real>::series(term));
    }
    for (int i = 0; i < bodies; ++i) forces.mass[i].set_lane(lane, number_at(problem, kFirstMass + i, point));
    for (int c = 0; c < 3 * bodies; ++c) {
        motion.x[c].set_lane(lane, number_at(problem, kFirstPosition + c, point));
        motion.v[c].set_lane(lane, number_at(problem, kFirstVelocity + c, point));
    }
}

// Returns the lanes, one bit each, whose positions and velocities are finite.
template <class Real, int bodies>
VOLTPILE_HD unsigned finite_lanes(const Motion<Real, bodies>& motion) {
    Real sum = real<Real>(0);
    VOLTPILE_UNROLL
    for (int c = 0; c < 3 * bodies; ++c) sum = sum + (motion.x[c] + motion.v[c]);
    return lanes_not_above(sum - sum, real<Real>(0));
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::nbody
