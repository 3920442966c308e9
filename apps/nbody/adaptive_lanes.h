// Adaptive methods: one point of the sweep in each SIMD lane, each with its own step.
#pragma once

#include "nbody/fixed_step_lanes.h"
#include "sweep/extrapolation10.h"
#include "sweep/nystrom8.h"

namespace voltpile::nbody {
inline namespace VOLTPILE_TARGET {

// Attempts a step of order 10; as Nystrom8::attempt, also with the accelerations at its end.
struct ExtrapolatedStep {
    template <class Real, int bodies>
    static VOLTPILE_HD void attempt(const Motion<Real, bodies>& from, Real h,
                                    const Forces<Real, bodies>& forces, Motion<Real, bodies>& to,
                                    Real (&error)[3 * bodies]) {
        Extrapolation10::extrapolate(from, from.a, h, forces, to, error);
        accelerations(to.x, forces, to.a);
    }
};

// Returns the squared error of the velocities relative to their squares at both ends of the step.
template <class Real, int bodies>
VOLTPILE_HD Real squared_relative_error(const Motion<Real, bodies>& from, const Motion<Real, bodies>& to,
                                        const Real (&error)[3 * bodies]) {
    Real squared = real<Real>(0);
    Real scale = real<Real>(1e-290);  // bodies that rest and stay at rest have no error
    for (int c = 0; c < 3 * bodies; ++c) {
        squared = fma(error[c], error[c], squared);
        scale = fma(from.v[c], from.v[c], fma(to.v[c], to.v[c], scale));
    }
    return squared / scale;
}

template <class Real, int numbers>
VOLTPILE_HD void take(Real taken, const Real (&from)[numbers], Real (&to)[numbers]) {
    VOLTPILE_UNROLL
    for (int c = 0; c < numbers; ++c) to[c] = select_below(real<Real>(0), taken, from[c], to[c]);
}

// sweep/cpu_lanes.h says what the members are for. Integrator: Nystrom8 or ExtrapolatedStep.
template <class Integrator, class Real, int bodies>
class AdaptiveLanes {
    static constexpr int longest_stretch = 256;  // steps until idle lanes ask again

  public:
    static constexpr int count = Real::lanes;
    static constexpr double units_between_reports = count * (1 << 16) / (bodies * bodies);

    VOLTPILE_HD explicit AdaptiveLanes(const Problem& problem) : problem_(problem) {}

    VOLTPILE_HD void begin(int i, std::int64_t point) {
        point_[i] = point;
        const double dt = number_at(problem_, kDt, point);
        begin_lane(problem_, point, i, fresh_, forces_);
        if (problem_.escape_distance > 0) set_escape_terms(problem_, point, i, escape_);
        end_.set_lane(i, dt * step_count(problem_, point));
        step_.set_lane(i, dt);
        time_.set_lane(i, 0.0);
        attempts_.set_lane(i, 0.0);
        reason_.set_lane(i, 0.0);
        escaper_.set_lane(i, 0.0);
    }

    VOLTPILE_HD void start(unsigned filled) {
        const unsigned bad = start_lanes(filled, fresh_, forces_, motion_, closest_);
        const unsigned met =
            problem_.collision > 0
                ? filled & lanes_not_above(closest_.squared_distance,
                                           real<Real>(problem_.collision * problem_.collision))
                : 0;
        for (int i = 0; i < count; ++i) {
            if ((bad >> i & 1U) != 0) reason_.set_lane(i, reason(Status::NotFinite));
            if ((met >> i & 1U) != 0) reason_.set_lane(i, reason(Status::Collision));
        }
    }

    VOLTPILE_HD double advance(unsigned active) {
        int k = 0;
        while (k < longest_stretch && decided(active) == 0) {
            attempt_step();
            ++k;
        }
        return static_cast<double>(k) * __builtin_popcount(active);
    }

    VOLTPILE_HD unsigned decided(unsigned active) const {
        return active & ~lanes_not_above(reason_, real<Real>(0));
    }

    VOLTPILE_HD const Outcome& outcome(int i) {
        PathEnd end;
        set_end(motion_, closest_, i, end);
        end.status = static_cast<Status>(static_cast<int>(reason_.lane(i)) - 1);
        end.steps = static_cast<std::int32_t>(attempts_.lane(i));
        end.time = time_.lane(i);
        end.escaper = escaper_.lane(i);
        outcome_ = outcome_of(problem_, point_[i], end);
        return outcome_;
    }

  private:
    static VOLTPILE_HD double reason(Status status) { return static_cast<double>(status) + 1; }

    // Attempts one step, and either takes it or sets a shorter one to attempt next.
    VOLTPILE_HD void attempt_step() {
        const Real zero = real<Real>(0), one = real<Real>(1);
        const Real left = end_ - time_;
        const Real h = smaller(step_, left);
        Motion<Real, bodies> to;
        Real error[3 * bodies];
        Integrator::attempt(motion_, h, forces_, to, error);
        // In units of the tolerance.
        const Real excess = squared_relative_error(motion_, to, error) *
                            real<Real>(1 / (problem_.tolerance * problem_.tolerance));
        // 0.8 (error / tolerance)^(-1/8), between a quarter and four; a quarter for NaN.
        const Real factor =
            larger(smaller(real<Real>(0.8) * inverse_root_16(excess), real<Real>(4)), real<Real>(0.25));
        const Real taken = select_not_above(excess, one, one, zero);
        if (problem_.want_closest) note_approaches(closest_, motion_, to, time_, h, taken);
        const Real time = select_below(h, left, time_ + h, end_);
        time_ = select_below(zero, taken, time, time_);
        take(taken, to.x, motion_.x);
        take(taken, to.v, motion_.v);
        take(taken, to.a, motion_.a);
        step_ = h * factor;
        attempts_ = attempts_ + one;
        decide(taken);
    }

    // Sets the reason why lanes end; the last that holds counts.
    VOLTPILE_HD void decide(Real taken) {
        const Real zero = real<Real>(0), one = real<Real>(1);
        const Real rejected = one - taken;
        const auto ends = [&](Real where, Status status) {
            reason_ = select_below(zero, where, real<Real>(reason(status)), reason_);
        };
        ends(select_not_above(real<Real>(problem_.most_steps), attempts_, one, zero), Status::MaxSteps);
        ends(select_not_above(step_, end_ * real<Real>(1e-16), rejected, zero), Status::StepTooSmall);
        ends(select_not_above(end_, time_, one, zero), Status::End);
        if (problem_.escape_distance > 0) {
            escaper_ = escaped_body(motion_, forces_, escape_);
            ends(escaper_ * taken, Status::Escape);
        }
        if (problem_.collision > 0)
            ends(select_not_above(closest_.squared_distance,
                                  real<Real>(problem_.collision * problem_.collision), one, zero),
                 Status::Collision);
    }

    const Problem& problem_;
    Motion<Real, bodies> motion_;
    Motion<Real, bodies> fresh_;  // of lanes that have not started
    Forces<Real, bodies> forces_;
    EscapeTerms<Real, bodies> escape_;
    Encounter<Real> closest_;
    Real end_, time_, step_, attempts_;
    Real reason_;  // 0: undecided; else 1 + Status
    Real escaper_;
    std::int64_t point_[count];
    Outcome outcome_;
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::nbody
