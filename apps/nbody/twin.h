// A twin of a point: the same bodies, started system.twin_shift away. The pair is together until a body is
// further than stop.separation from its twin.
#pragma once

#include "nbody/companion.h"

namespace voltpile::nbody {
inline namespace VOLTPILE_TARGET {

// For CompanionForces: the second half is a twin.
struct SecondIsTwin {
    template <class Real, int bodies, int numbers>
    static VOLTPILE_HD void accelerate(const Real (&x)[numbers],
                                       const CompanionForces<Real, bodies, SecondIsTwin>& forces,
                                       Real (&a)[numbers]) {
        const Forces<Real, bodies>& of_either = forces;
        accelerations(half_of<0>(x), of_either, half_of<0>(a));
        accelerations(half_of<1>(x), of_either, half_of<1>(a));
    }
};

// companion.h says what the members are for.
template <class Real, int bodies>
class Twin {
  public:
    static constexpr int moving = 2 * bodies;
    static constexpr bool parts = true;
    using AllForces = CompanionForces<Real, bodies, SecondIsTwin>;

    VOLTPILE_HD explicit Twin(const Problem& problem)
        : problem_(problem), limit_(problem.separation * problem.separation) {}

    VOLTPILE_HD void begin(std::int64_t point, int lane, Motion<Real, moving>& fresh) {
        for (int c = 0; c < 3 * bodies; ++c) {
            const double x = number_at(problem_, kFirstPosition + c, point);
            fresh.x[3 * bodies + c].set_lane(lane, x + number_at(problem_, kFirstTwinShift + c, point));
            fresh.v[3 * bodies + c].set_lane(lane, number_at(problem_, kFirstVelocity + c, point));
        }
    }

    VOLTPILE_HD void start(unsigned filled, const Motion<Real, moving>& motion) {
        const unsigned apart = parted(motion);
        for (int i = 0; i < Real::lanes; ++i) {
            if ((filled >> i & 1U) == 0) continue;
            parted_.set_lane(i, (apart >> i & 1U) != 0 ? 0.0 : __builtin_inf());
            parted_gap_.set_lane(i, 0.0);
        }
    }

    VOLTPILE_HD void note(Motion<Real, moving>&, Real, Real) {}
    VOLTPILE_HD void set_end(int, PathEnd&) const {}

    // Returns the lanes in which the twin has parted.
    VOLTPILE_HD unsigned parted(const Motion<Real, moving>& motion) const {
        return ~lanes_not_above(largest_gap(motion), real<Real>(0));
    }

    // Restricts a step of an adaptive method: it must not end after the twins have parted. taken: 1 in lanes
    // whose step is exact enough, set to 0 where it ends too late. step: to attempt next.
    VOLTPILE_HD void restrict_step(const AdaptivePath<Real, moving>& path, const Motion<Real, moving>& to,
                                   Real h, Real& taken, Real& step) {
        const Real zero = real<Real>(0), one = real<Real>(1);
        const Real exact = taken;
        const Real before = largest_gap(path.motion), after = largest_gap(to);
        const Real turn = first_peak(path.motion, to, h);
        const Real together = select_not_above(after, zero, one, zero);
        const Real peaked = select_below(turn, one, one, zero);
        const Real too_late = exact * (one - together);
        taken = exact * together * (one - peaked);

        // A step that ends after the twins parted bounds the time from above.
        parted_gap_ = select_below(zero, too_late, after, parted_gap_);
        parted_ = select_below(zero, too_late, path.time + h, parted_);
        parted_gap_ = select_below(zero, taken, parted_gap_ * real<Real>(0.5), parted_gap_);

        // Once the twins are known to part, regula falsi with halving (Illinois) finds when. A step that ends
        // closer than half the tolerance to either end would not narrow the interval enough.
        const Real gap = select_below(zero, taken, after, before);
        const Real width = parted_ - select_below(zero, taken, path.time + h, path.time);
        const Real least = path.end * real<Real>(0.5 * problem_.tolerance);
        const Real secant = larger(smaller(width * (gap / (gap - parted_gap_)), width - least), least);
        const Real toward = select_below(parted_, real<Real>(__builtin_inf()), secant, step);
        step = select_below(zero, exact, select_below(zero, together * peaked, h * turn, toward), step);
    }

    // Sets the reason of paths whose time of parting is known within the tolerance.
    VOLTPILE_HD void decide(AdaptivePath<Real, moving>& path) const {
        const Real known = select_not_above(parted_ - path.time, path.end * real<Real>(problem_.tolerance),
                                            real<Real>(reason(Status::Parted)), real<Real>(0));
        path.reason = select_below(real<Real>(0), path.reason, path.reason, known);
    }

    // Of a path that decide() has ended or that has ended before.
    VOLTPILE_HD void set_parting(std::int64_t point, int lane, PathEnd& end) const {
        const bool apart = end.status == Status::Parted;
        const double dt = number_at(problem_, kDt, point);
        const std::int32_t steps = step_count(problem_, point);
        end.time_together = apart ? static_cast<double>(parted_.lane(lane)) : end.time;
        end.steps_together = steps;
        if (end.time_together < dt * steps) {
            const double ratio = end.time_together / dt;
            const auto whole = static_cast<std::int32_t>(ratio);
            // The first state at which a method of fixed steps finds the twins apart.
            end.steps_together = apart && whole < ratio ? whole + 1 : whole;
        }
    }

  private:
    // Returns the squared distance of a body from its twin, less that at which twins part.
    VOLTPILE_HD Real gap(const Motion<Real, moving>& motion, int body) const {
        Real d[3];
        VOLTPILE_UNROLL
        for (int c = 0; c < 3; ++c) d[c] = motion.x[3 * (bodies + body) + c] - motion.x[3 * body + c];
        return squared_length(d[0], d[1], d[2]) - real<Real>(limit_);
    }

    VOLTPILE_HD Real largest_gap(const Motion<Real, moving>& motion) const {
        Real largest = gap(motion, 0);
        VOLTPILE_UNROLL
        for (int i = 1; i < bodies; ++i) largest = larger(gap(motion, i), largest);
        return largest;
    }

    // Half the derivative of gap().
    static VOLTPILE_HD Real rate(const Motion<Real, moving>& motion, int body) {
        Real sum = real<Real>(0);
        VOLTPILE_UNROLL
        for (int c = 3 * body; c < 3 * body + 3; ++c)
            sum = fma(motion.x[3 * bodies + c] - motion.x[c], motion.v[3 * bodies + c] - motion.v[c], sum);
        return sum;
    }

    // Bodies that recede from their twins at first and approach them in the end may have parted in between.
    // Returns the part of the step after which the first of them may do so, if that is well before the end;
    // else 1.
    VOLTPILE_HD Real first_peak(const Motion<Real, moving>& from, const Motion<Real, moving>& to,
                                Real h) const {
        const Real zero = real<Real>(0), one = real<Real>(1);
        Real first = one;
        VOLTPILE_UNROLL
        for (int i = 0; i < bodies; ++i) {
            const Real before = rate(from, i), after = rate(to, i);
            const Real turn = before / (before - after);
            const Real peak = fma(h * turn, before, gap(from, i));
            Real at = select_below(zero, before, select_below(after, zero, turn, one), one);
            at = select_below(zero, peak, select_below(turn, real<Real>(0.9), at, one), one);
            first = smaller(at, first);
        }
        return first;
    }

    const Problem& problem_;
    const double limit_;
    // Of adaptive methods: the twins part within (time, parted], or at no known time.
    Real parted_;      // infinite: not known to part
    Real parted_gap_;  // largest gap there; halved each time the other end moves
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::nbody
