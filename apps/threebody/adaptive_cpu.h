// Adaptive methods on the CPU: one pair of systems in each SIMD lane, each with its own step.
#pragma once

#include "sweep/simd_inverse_cube.h"
#include "sweep/simd_select.h"
#include "threebody/adaptive_outcome.h"
#include "threebody/fixed_step_cpu.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

template <class Real>
VOLTPILE_HD void set_lane(RelativeMotion<Real>& to, int lane,
                          const RelativeMotion<typename Real::Scalar>& from) {
    for (int c = 0; c < 6; ++c) {
        to.x[c].set_lane(lane, from.x[c]);
        to.v[c].set_lane(lane, from.v[c]);
    }
}

template <class Real>
VOLTPILE_HD void copy_lane(const RelativeMotion<Real>& from, RelativeMotion<Real>& to, int lane) {
    for (int c = 0; c < 6; ++c) {
        to.x[c].set_lane(lane, from.x[c].lane(lane));
        to.v[c].set_lane(lane, from.v[c].lane(lane));
        to.a[c].set_lane(lane, from.a[c].lane(lane));
    }
}
template <class Real>
VOLTPILE_HD void copy_lane(const ChainMotion<Real>& from, ChainMotion<Real>& to, int lane) {
    for (int c = 0; c < 6; ++c) {
        to.x[c].set_lane(lane, from.x[c].lane(lane));
        to.v[c].set_lane(lane, from.v[c].lane(lane));
    }
    to.center.set_lane(lane, from.center.lane(lane));
}

// Watches the first system's path in SIMD lanes.
template <class Real>
struct WatchLanes {
    static constexpr bool watches = true;
    PathWatch<Real>& watch;
    const PairConstants<Real>& constants;
    const WatchDemands& demands;

    VOLTPILE_HD void step(const RelativeMotion<Real>& from, const RelativeMotion<Real>& to, Real time, Real h,
                          Real taken) const {
        watch_step(watch, demands, from, to, time, h, taken);
    }
    VOLTPILE_HD Real end(const RelativeMotion<Real>& first, RelativeMotion<Real>& twin, Real time, Real h,
                         Real taken) const {
        return watch_end(watch, demands, constants, first, twin, time, h, taken);
    }
};

// sweep/cpu_lanes.h says what the members are for. Real: Simd<double> or DoubleDouble of it. watched: paths
// are.
template <class Integrator, class Real, bool watched>
class AdaptiveLanes {
    using Value = typename ValueOf<typename Real::Scalar>::type;
    using Pair = AdaptivePair<Real, typename Integrator::template Motion<Real>>;
    static constexpr int longest_stretch = 256;  // steps until idle lanes ask again

  public:
    static constexpr int count = Real::lanes;
    static constexpr double units_between_reports =
        count * (std::is_same_v<Value, double> ? 1 << 14 : 1 << 9);

    VOLTPILE_HD explicit AdaptiveLanes(const Problem& problem)
        : problem_(problem), demands_(demands_of(problem)) {}

    VOLTPILE_HD void begin(int i, std::int64_t point) {
        parameters_[i] = parameters_at(problem_, point);
        const ParameterSet<Value> values = parameters_in<Value>(problem_, point);
        set_pair_constants(values, constants_, AssignLane<Real>{i});
        first_step_.set_lane(i, values.dt);
        RelativeMotion<Value> first, twin;
        initial_motions(values, first, twin);
        if constexpr (watched) {
            if (demands_.watch.deviation) start_deviation(first, twin);
        }
        threebody::set_lane(new_.first, i, first);
        threebody::set_lane(new_.twin, i, twin);
    }

    VOLTPILE_HD void start(unsigned filled) {
        start_pair(new_, constants_, demands_, first_step_);
        PathWatch<Real> new_watch;
        if constexpr (watched) start_watch(new_watch, demands_.watch, new_.first, new_.twin, constants_);
        for (int i = 0; i < count; ++i) {
            if ((filled >> i & 1U) == 0) continue;
            copy_lane(new_.first, pair_.first, i);
            copy_lane(new_.twin, pair_.twin, i);
            pair_.time.set_lane(i, new_.time.lane(i));
            pair_.step.set_lane(i, new_.step.lane(i));
            pair_.parted.set_lane(i, new_.parted.lane(i));
            pair_.parted_gap.set_lane(i, new_.parted_gap.lane(i));
            pair_.attempts.set_lane(i, new_.attempts.lane(i));
            if constexpr (watched) {
                for (int k = 0; k < path_watch_numbers; ++k)
                    watch_numbers(watch_)[k].set_lane(i, watch_numbers(new_watch)[k].lane(i));
            }
        }
    }

    VOLTPILE_HD double advance(unsigned active) {
        int k = 0;
        while (k < longest_stretch && decided(active) == 0) {
            if constexpr (watched) {
                advance_pair<Integrator>(pair_, constants_, demands_,
                                         WatchLanes<Real>{watch_, constants_, demands_.watch});
            } else {
                advance_pair<Integrator>(pair_, constants_, demands_, NoWatch{});
            }
            ++k;
        }
        return static_cast<double>(k) * __builtin_popcount(active);
    }

    VOLTPILE_HD unsigned decided(unsigned active) const {
        return active & lanes_not_above(undecided(pair_, constants_, demands_), Real(0.0));
    }

    VOLTPILE_HD const Outcome& outcome(int i) {
        AdaptiveEnd end;
        for (int c = 0; c < 6; ++c) {
            end.x[c] = static_cast<double>(pair_.first.x[c].lane(i));
            end.v[c] = static_cast<double>(pair_.first.v[c].lane(i));
        }
        end.center = static_cast<double>(center_of(pair_.first).lane(i));
        end.time = static_cast<double>(pair_.time.lane(i));
        end.parted = static_cast<double>(pair_.parted.lane(i));
        end.attempts = static_cast<double>(pair_.attempts.lane(i));
        for (int k = 0; k < path_watch_numbers; ++k)
            reinterpret_cast<double*>(&end.watch)[k] = static_cast<double>(watch_numbers(watch_)[k].lane(i));
        outcome_ = Outcome();
        set_adaptive_outcome(parameters_[i], end, demands_, outcome_);
        return outcome_;
    }

  private:
    static VOLTPILE_HD Real* watch_numbers(PathWatch<Real>& watch) { return reinterpret_cast<Real*>(&watch); }

    const Problem& problem_;
    const AdaptiveDemands demands_;
    Pair pair_;
    Pair new_;                 // of lanes that have not started
    PathWatch<Real> watch_{};  // zero if nothing is watched
    PairConstants<Real> constants_;
    Real first_step_;
    Parameters parameters_[count];
    Outcome outcome_;
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
