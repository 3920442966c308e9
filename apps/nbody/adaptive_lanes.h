// Adaptive methods on the CPU: one point of the sweep in each SIMD lane, each with its own step. Only for
// sources that voltpile_cpu_kernels compiles.
#pragma once

#include "nbody/companion.h"
#include "nbody/fixed_step_lanes.h"

namespace voltpile::nbody {
inline namespace VOLTPILE_TARGET {

// sweep/cpu_lanes.h says what the members are for. Integrator: Nystrom8 or ExtrapolatedStep.
template <class Integrator, class Real, int bodies, template <class, int> class CompanionOf = NoCompanion>
class AdaptiveLanes {
    using Scalar = typename Real::Scalar;
    using Companion = CompanionOf<Real, bodies>;
    static constexpr int moving = Companion::moving;
    static constexpr int longest_stretch = 256;                        // steps until idle lanes ask again
    static constexpr bool watches = sizeof(Scalar) == sizeof(double);  // not in double-double

  public:
    static constexpr int count = Real::lanes;
    static constexpr double units_between_reports = count * (1 << 16) / (bodies * bodies);

    VOLTPILE_HD explicit AdaptiveLanes(const Problem& problem)
        : problem_(problem), demands_(path_demands(problem)), companion_(problem) {}

    VOLTPILE_HD void begin(int i, std::int64_t point) {
        point_[i] = point;
        const double dt = number_at(problem_, kDt, point);
        begin_lane<Real, bodies>(problem_, point, i, fresh_, forces_);
        companion_.begin(point, i, fresh_);
        if (watches && demands_.escapes) set_escape_terms(problem_, point, escape_, SetLane<Real>{i});
        path_.end.set_lane(i, Scalar(dt) * Scalar(static_cast<double>(step_count(problem_, point))));
        path_.step.set_lane(i, Scalar(dt));
        for (Real* const of : {&path_.time, &path_.attempts, &path_.reason, &path_.escaper})
            of->set_lane(i, Scalar(0.0));
    }

    VOLTPILE_HD void start(unsigned filled) {
        const unsigned bad = start_lanes<bodies>(filled, fresh_, forces_, path_.motion, closest_);
        companion_.start(filled, path_.motion);
        if constexpr (Companion::parts) companion_.decide(path_);
        const unsigned met =
            demands_.collision2 > 0
                ? filled & lanes_not_above(closest_.squared_distance, real<Real>(demands_.collision2))
                : 0;
        for (int i = 0; i < count; ++i) {
            if ((bad >> i & 1U) != 0) path_.reason.set_lane(i, Scalar(reason(Status::NotFinite)));
            if ((met >> i & 1U) != 0) path_.reason.set_lane(i, Scalar(reason(Status::Collision)));
        }
    }

    VOLTPILE_HD double advance(unsigned active) {
        if constexpr (watches)
            return advance(active,
                           WholeWatch<Real, bodies, Forces<Real, bodies>>{closest_, forces_, escape_});
        else
            return advance(active, NoWatch());
    }

    VOLTPILE_HD unsigned decided(unsigned active) const {
        return active & ~lanes_not_above(path_.reason, real<Real>(0));
    }

    VOLTPILE_HD const Outcome& outcome(int i) {
        PathEnd end;
        set_end(path_of<bodies>(path_.motion), closest_, i, end);
        end.status = status_of(plain_lane(path_.reason, i));
        end.steps = static_cast<std::int32_t>(plain_lane(path_.attempts, i));
        end.time = plain_lane(path_.time, i);
        end.escaper = plain_lane(path_.escaper, i);
        companion_.set_end(i, end);
        if constexpr (Companion::parts) companion_.set_parting(point_[i], i, end);
        outcome_ = outcome_of(problem_, point_[i], end);
        return outcome_;
    }

  private:
    template <class Watch>
    VOLTPILE_HD double advance(unsigned active, const Watch& watch) {
        int k = 0;
        while (k < longest_stretch && decided(active) == 0) {
            const Real before = path_.time;
            attempt_step<Integrator>(path_, forces_, demands_, watch, companion_);
            companion_.note(path_.motion, before, path_.time);
            if constexpr (Companion::parts) companion_.decide(path_);
            ++k;
        }
        return static_cast<double>(k) * __builtin_popcount(active);
    }

    const Problem& problem_;
    const PathDemands demands_;
    Companion companion_;
    AdaptivePath<Real, moving> path_;
    Motion<Real, moving> fresh_;  // of lanes that have not started
    typename Companion::AllForces forces_;
    EscapeTerms<Real, bodies> escape_;
    Encounter<Real> closest_;
    std::int64_t point_[count];
    Outcome outcome_;
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::nbody
