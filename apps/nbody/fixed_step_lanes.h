// Methods of fixed steps on the CPU: one point of the sweep in each SIMD lane. Only for sources that
// voltpile_cpu_kernels compiles.
#pragma once

#include "nbody/companion.h"
#include "nbody/fixed_steps.h"
#include "nbody/outcome.h"
#include "nbody/path.h"

namespace voltpile::nbody {
inline namespace VOLTPILE_TARGET {

// Returns a lane, rounded to FP64.
template <class Real>
VOLTPILE_HD double plain_lane(const Real& of, int lane) {
    return static_cast<double>(of.lane(lane));
}

template <class Real, int bodies>
VOLTPILE_HD void set_end(const Motion<Real, bodies>& motion, const Encounter<Real>& closest, int lane,
                         PathEnd& end) {
    for (int c = 0; c < 3 * bodies; ++c) {
        end.x[c] = plain_lane(motion.x[c], lane);
        end.v[c] = plain_lane(motion.v[c], lane);
    }
    end.closest_squared = plain_lane(closest.squared_distance, lane);
    end.closest_time = plain_lane(closest.time, lane);
    end.closest_pair = plain_lane(closest.pair, lane);
}

// Starts the lanes of `fresh`: computes accelerations and the first distances. Returns those whose forces
// are not finite.
template <int bodies, class Real, int moving, class AllForces>
VOLTPILE_HD unsigned start_lanes(unsigned filled, Motion<Real, moving>& fresh, const AllForces& forces,
                                 Motion<Real, moving>& motion, Encounter<Real>& closest) {
    accelerations(fresh.x, forces, fresh.a);
    Encounter<Real> first = no_encounter<Real>();
    note_distances<Real, bodies>(first, path_of<bodies>(fresh).x, real<Real>(0));
    Real sum = real<Real>(0);
    for (int c = 0; c < 3 * moving; ++c) sum = sum + fresh.a[c];
    const unsigned finite = lanes_not_above(sum - sum, real<Real>(0)) & finite_lanes(fresh);
    for (int i = 0; i < Real::lanes; ++i) {
        if ((filled >> i & 1U) == 0) continue;
        copy_lane(fresh, motion, i);
        closest.squared_distance.set_lane(i, first.squared_distance.lane(i));
        closest.time.set_lane(i, typename Real::Scalar(0.0));
        closest.pair.set_lane(i, first.pair.lane(i));
    }
    return filled & ~finite;
}

// sweep/cpu_lanes.h says what the members are for.
template <class Real, int bodies, template <class, int> class CompanionOf = NoCompanion>
class FixedStepLanes {
    using Scalar = typename Real::Scalar;
    using Companion = CompanionOf<Real, bodies>;
    static constexpr int moving = Companion::moving;
    static constexpr int longest_stretch = 4096;                          // steps until idle lanes ask again
    static constexpr bool can_escape = sizeof(Scalar) == sizeof(double);  // not in double-double

  public:
    static constexpr int count = Real::lanes;
    static constexpr double units_between_reports = count * (1 << 20) / (bodies * bodies);

    VOLTPILE_HD explicit FixedStepLanes(const Problem& problem)
        : problem_(problem), composition_(problem.method), companion_(problem) {}

    VOLTPILE_HD void begin(int i, std::int64_t point) {
        Lane& lane = lane_[i];
        lane.point = point;
        lane.time_is_up = step_count(problem_, point);
        lane.last = lane.time_is_up < problem_.most_steps ? lane.time_is_up : problem_.most_steps;
        lane.steps = 0;
        lane.escaper = 0;
        lane.ended = false;
        lane.status = lane.last < lane.time_is_up ? Status::MaxSteps : Status::End;
        begin_lane<Real, bodies>(problem_, point, i, fresh_, forces_);
        companion_.begin(point, i, fresh_);
        if (can_escape && problem_.escape_distance > 0)
            set_escape_terms(problem_, point, escape_, SetLane<Real>{i});
        h_.set_lane(i, Scalar(number_at(problem_, kDt, point)));
        steps_.set_lane(i, Scalar(0.0));
    }

    VOLTPILE_HD void start(unsigned filled) {
        const unsigned bad = start_lanes<bodies>(filled, fresh_, forces_, motion_, closest_);
        companion_.start(filled, motion_);
        if constexpr (Companion::parts) end(filled & companion_.parted(motion_), Status::Parted);
        end(bad, Status::NotFinite);
        end(filled & collided(), Status::Collision);
    }

    VOLTPILE_HD double advance(unsigned active) {
        int stretch = longest_stretch;
        for (int i = 0; i < count; ++i) {
            const int left = lane_[i].ended ? 0 : lane_[i].last - lane_[i].steps;
            if ((active >> i & 1U) != 0 && left < stretch) stretch = left;
        }
        int k = 0;
        unsigned ended = 0;
        while (k < stretch && ended == 0) {
            const Motion<Real, moving> before = motion_;
            const Real steps_before = steps_;
            fixed_step(problem_.method, composition_, motion_, h_, forces_);
            ++k;
            steps_ = steps_ + real<Real>(1);
            ended = active & ~finite_lanes(motion_);
            if (__builtin_expect(ended != 0, 0)) take_back(ended, before);
            companion_.note(motion_, h_ * steps_before, h_ * steps_);
            if (problem_.want_closest)
                note_distances<Real, bodies>(closest_, path_of<bodies>(motion_).x, steps_);
            if (problem_.collision > 0) {
                const unsigned met = active & ~ended & collided();
                end(met, Status::Collision);
                ended |= met;
            }
            if constexpr (Companion::parts) {
                const unsigned parted = active & ~ended & companion_.parted(motion_);
                end(parted, Status::Parted);
                ended |= parted;
            }
            if constexpr (can_escape) {
                if (problem_.escape_distance > 0) ended |= note_escapes(active & ~ended);
            }
        }
        for (int i = 0; i < count; ++i)
            if ((active >> i & 1U) != 0) lane_[i].steps = static_cast<std::int32_t>(plain_lane(steps_, i));
        return static_cast<double>(k) * __builtin_popcount(active);
    }

    VOLTPILE_HD unsigned decided(unsigned active) const {
        unsigned decided = 0;
        for (int i = 0; i < count; ++i)
            if (lane_[i].ended || lane_[i].steps >= lane_[i].last) decided |= active & 1U << i;
        return decided;
    }

    VOLTPILE_HD const Outcome& outcome(int i) {
        const Lane& lane = lane_[i];
        const double h = plain_lane(h_, i);
        PathEnd end;
        set_end(path_of<bodies>(motion_), closest_, i, end);
        end.status = lane.status;
        end.steps = lane.steps;
        end.time = h * lane.steps;
        end.closest_time = h * end.closest_time;
        end.escaper = lane.escaper;
        end.steps_together = lane.steps;
        end.time_together = end.time;
        companion_.set_end(i, end);
        outcome_ = outcome_of(problem_, lane.point, end);
        return outcome_;
    }

  private:
    struct Lane {
        std::int64_t point = 0;
        std::int32_t time_is_up = 0, last = 0, steps = 0;
        double escaper = 0;
        bool ended = false;  // before `last`
        Status status = Status::End;
    };

    VOLTPILE_HD void end(unsigned lanes, Status status) {
        for (int i = 0; i < count; ++i) {
            if ((lanes >> i & 1U) == 0) continue;
            lane_[i].ended = true;
            lane_[i].status = status;
        }
    }

    // Puts lanes whose last step is not finite to where they were before it.
    VOLTPILE_HD void take_back(unsigned lanes, const Motion<Real, moving>& before) {
        for (int i = 0; i < count; ++i) {
            if ((lanes >> i & 1U) == 0) continue;
            copy_lane(before, motion_, i);
            steps_.set_lane(i, steps_.lane(i) - Scalar(1.0));
        }
        end(lanes, Status::NotFinite);
    }

    VOLTPILE_HD unsigned collided() const {
        if (problem_.collision == 0) return 0;
        return lanes_not_above(closest_.squared_distance,
                               real<Real>(problem_.collision * problem_.collision));
    }

    // Returns the lanes in which a body has escaped.
    VOLTPILE_HD unsigned note_escapes(unsigned active) {
        const Real body = escaped_body(path_of<bodies>(motion_), forces_, escape_);
        const unsigned escaped = active & ~lanes_not_above(body, real<Real>(0));
        if (__builtin_expect(escaped != 0, 0)) {
            end(escaped, Status::Escape);
            for (int i = 0; i < count; ++i)
                if ((escaped >> i & 1U) != 0) lane_[i].escaper = body.lane(i);
        }
        return escaped;
    }

    const Problem& problem_;
    const Composition composition_;
    Companion companion_;
    Motion<Real, moving> motion_;
    Motion<Real, moving> fresh_;  // of lanes that have not started
    typename Companion::AllForces forces_;
    EscapeTerms<Real, bodies> escape_;
    Encounter<Real> closest_;  // its time counts steps
    Real h_, steps_;
    Lane lane_[count];
    Outcome outcome_;
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::nbody
