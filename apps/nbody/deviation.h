// How fast a small deviation from the path grows: the largest Lyapunov exponent and MEGNO (P. M. Cincotta, C.
// Simo, Astron. Astrophys. Suppl. 147, 205, 2000). The deviation obeys the equations of motion linearized
// about the path, and a step of a method advances it by the derivative of the step. So it needs no small
// length: after each step it is multiplied with a power of 2, which rounds nothing.
//
// Its size is the norm of the deviations of all positions and velocities, in the job's units.
#pragma once

#include "nbody/companion.h"
#include "sweep/logarithm.h"

namespace voltpile::nbody {
inline namespace VOLTPILE_TARGET {

// Returns -2 p'(r2), where p = pull_of_center(..., r2) is `pull`.
template <class Real>
VOLTPILE_HD Real bend_of_center(Potential potential, const Center<Real>& center, Real r2, Real pull) {
    switch (potential) {
        case Potential::None:
        case Potential::Harmonic:
            break;
        case Potential::Point:
        case Potential::Plummer:
            return real<Real>(3) * pull / (r2 + center.scale2);
        case Potential::Logarithmic:
            return real<Real>(2) * pull / (r2 + center.scale2);
    }
    return real<Real>(0);
}

// x, a: of the path, then of the deviation. A pull p(d^2) d changes with d by p e - bend (d e) d, where e is
// the change of d and bend = -2 p'.
template <class Real, int bodies, class AllForces, int numbers>
VOLTPILE_HD void add_up_linearized_forces(const Real (&x)[numbers], const AllForces& forces,
                                          Real (&a)[numbers]) {
    constexpr int of_deviation = 3 * bodies;
    VOLTPILE_UNROLL
    for (int c = 0; c < numbers; ++c) a[c] = real<Real>(0);
    if (forces.potential != Potential::None) {
        VOLTPILE_UNROLL
        for (int i = 0; i < bodies; ++i) {
            const Real* const d = x + 3 * i;
            const Real* const e = d + of_deviation;
            const Real r2 = squared_length(d[0], d[1], d[2]);
            const Real pull = pull_of_center(forces.potential, forces.center, r2);
            const Real bend = bend_of_center(forces.potential, forces.center, r2, pull);
            const Real along = bend * fma(d[2], e[2], fma(d[1], e[1], d[0] * e[0]));
            VOLTPILE_UNROLL
            for (int c = 0; c < 3; ++c) {
                a[3 * i + c] = -(pull * d[c]);
                a[of_deviation + 3 * i + c] = fma(along, d[c], -(pull * e[c]));
            }
        }
    }
    VOLTPILE_UNROLL
    for (int i = 0; i + 1 < bodies; ++i) {
        VOLTPILE_UNROLL
        for (int j = i + 1; j < bodies; ++j) {
            Real d[3], e[3];
            VOLTPILE_UNROLL
            for (int c = 0; c < 3; ++c) {
                d[c] = x[3 * j + c] - x[3 * i + c];
                e[c] = x[of_deviation + 3 * j + c] - x[of_deviation + 3 * i + c];
            }
            const Real pull = pull_of_body(forces.gravity, d);
            const Real r2 = squared_length(d[0], d[1], d[2]) + forces.gravity.softening2;
            const Real along = real<Real>(3) * pull / r2 * fma(d[2], e[2], fma(d[1], e[1], d[0] * e[0]));
            const Real mass_i = forces.mass[i], mass_j = forces.mass[j];
            // The same operations as in add_up_forces().
            const Real to_i = pull * mass_i, to_j = pull * mass_j;
            VOLTPILE_UNROLL
            for (int c = 0; c < 3; ++c) {
                a[3 * i + c] = fma(to_j, d[c], a[3 * i + c]);
                a[3 * j + c] = fnma(to_i, d[c], a[3 * j + c]);
                const Real change = fnma(along, d[c], pull * e[c]);
                a[of_deviation + 3 * i + c] = fma(mass_j, change, a[of_deviation + 3 * i + c]);
                a[of_deviation + 3 * j + c] = fnma(mass_i, change, a[of_deviation + 3 * j + c]);
            }
        }
    }
}

// Internal to each level's object: the linker must not see any of these symbols.
namespace {

template <class Real, int bodies, class AllForces, int numbers>
__attribute__((noinline)) void call_add_up_linearized_forces(const Real (&x)[numbers],
                                                             const AllForces& forces, Real (&a)[numbers]) {
    add_up_linearized_forces<Real, bodies>(x, forces, a);
}

}  // namespace

// For CompanionForces: the second half is a deviation.
struct SecondIsDeviation {
    template <class Real, int bodies, int numbers>
    static VOLTPILE_HD void accelerate(const Real (&x)[numbers],
                                       const CompanionForces<Real, bodies, SecondIsDeviation>& forces,
                                       Real (&a)[numbers]) {
        call_add_up_linearized_forces<Real, bodies>(x, forces, a);
    }
};

// companion.h says what the members are for.
template <class Real, int bodies>
class Deviation {
  public:
    static constexpr int moving = 2 * bodies;
    static constexpr bool parts = false;
    using AllForces = CompanionForces<Real, bodies, SecondIsDeviation>;

    VOLTPILE_HD explicit Deviation(const Problem& problem) : problem_(problem) {}

    // The deviation starts along the twin's shift, as long as its largest component is 1.
    VOLTPILE_HD void begin(std::int64_t point, int lane, Motion<Real, moving>& fresh) {
        double shift[3 * bodies], largest = 0;
        for (int c = 0; c < 3 * bodies; ++c) {
            shift[c] = number_at(problem_, kFirstTwinShift + c, point);
            largest = larger(largest, shift[c] < 0 ? -shift[c] : shift[c]);
        }
        for (int c = 0; c < 3 * bodies; ++c) {
            fresh.x[3 * bodies + c].set_lane(lane, largest > 0 ? shift[c] / largest : 0.0);
            fresh.v[3 * bodies + c].set_lane(lane, 0.0);
        }
    }

    VOLTPILE_HD void start(unsigned filled, const Motion<Real, moving>& motion) {
        const Real squared = squared_size(motion);
        for (int i = 0; i < Real::lanes; ++i) {
            if ((filled >> i & 1U) == 0) continue;
            squared_.set_lane(i, squared.lane(i));
            for (Real* const of : {&growth_, &weighted_, &megno_}) of->set_lane(i, 0.0);
        }
    }

    VOLTPILE_HD void note(Motion<Real, moving>& motion, Real before, Real time) {
        const Real zero = real<Real>(0), half = real<Real>(0.5);
        const Real h = time - before;
        const Real after = squared_size(motion);
        const Real growth = half * logarithm(after / squared_);
        const Real weighted = fma(growth, fnma(half, h, time), weighted_);
        // Half of MEGNO at both ends of the step; at time 0 it is 0.
        const Real megno_before = select_below(zero, before, weighted_ / before, zero);
        const Real megno = fma(h, megno_before + weighted / time, megno_);
        growth_ = select_below(before, time, growth_ + growth, growth_);
        weighted_ = select_below(before, time, weighted, weighted_);
        megno_ = select_below(before, time, megno, megno_);
        const Real factor = select_below(zero, after, inverse_root_power(after), real<Real>(1));
        VOLTPILE_UNROLL
        for (int c = 3 * bodies; c < 3 * moving; ++c) {
            motion.x[c] = motion.x[c] * factor;
            motion.v[c] = motion.v[c] * factor;
            motion.a[c] = motion.a[c] * factor;
        }
        squared_ = after * (factor * factor);
    }

    VOLTPILE_HD void set_end(int lane, PathEnd& end) const {
        const bool known = end.time > 0 && static_cast<double>(squared_.lane(lane)) > 0;
        const double scale = known ? 1 / end.time : __builtin_nan("");
        end.lyapunov_exponent = static_cast<double>(growth_.lane(lane)) * scale;
        end.megno = static_cast<double>(megno_.lane(lane)) * scale;
    }

  private:
    static VOLTPILE_HD Real squared_size(const Motion<Real, moving>& motion) {
        Real sum = real<Real>(0);
        VOLTPILE_UNROLL
        for (int c = 3 * bodies; c < 3 * moving; ++c)
            sum = fma(motion.x[c], motion.x[c], fma(motion.v[c], motion.v[c], sum));
        return sum;
    }

    const Problem& problem_;
    Real squared_;   // size^2
    Real growth_;    // ln(size / size at the start)
    Real weighted_;  // integral over t of t size'/size; MEGNO is 2/t of it
    Real megno_;     // integral of MEGNO
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::nbody
