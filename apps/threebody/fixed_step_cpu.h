// Methods of fixed steps on the CPU: one pair of systems in each SIMD lane.
#pragma once

#include <type_traits>

#include "sweep/simd_double_double.h"
#include "sweep/simd_inverse_cube.h"
#include "threebody/diagnostics.h"
#include "threebody/double_double_inverse_cube.h"
#include "threebody/outcome.h"
#include "threebody/parameters.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

template <class Real>
VOLTPILE_HD void copy_lane(const System<Real>& from, System<Real>& to, int lane) {
    for (int i = 0; i < 3; ++i) {
        for (int c = 0; c < 3; ++c) {
            to.x[i][c].set_lane(lane, from.x[i][c].lane(lane));
            to.p[i][c].set_lane(lane, from.p[i][c].lane(lane));
        }
    }
}

template <class Real>
struct AssignLane {
    int lane;
    template <class Number>
    VOLTPILE_HD void operator()(Real& where, Number value) const {
        where.set_lane(lane, static_cast<typename Real::Scalar>(value));
    }
};

// Integrates one pair of systems in each lane of Real with a method of fixed steps (sweep/cpu_lanes.h).
template <class Integrator, class Real, bool closest>
class FixedStepLanes {
    using Scalar = typename Real::Scalar;
    using Value = typename ValueOf<Scalar>::type;
    static constexpr int longest_stretch = 4096;  // steps until idle lanes ask again

  public:
    static constexpr int count = Real::lanes;
    static constexpr double units_between_reports =
        count * (std::is_same_v<Value, double> ? 1 << 18 : 1 << 13);

    VOLTPILE_HD explicit FixedStepLanes(const Problem& problem)
        : problem_(problem), limit_(problem.separation * problem.separation) {}

    VOLTPILE_HD void begin(int i, std::int64_t point) {
        Lane& lane = lane_[i];
        const ParameterSet<Value> values = parameters_in<Value>(problem_, point);
        lane.parameters = parameters_at(problem_, point);
        lane.steps = step_count(lane.parameters);
        lane.state = 0;
        closest_squared_.set_lane(i, static_cast<Scalar>(__builtin_inf()));
        set_step_constants(values, constants_, AssignLane<Real>{i});
        System<Scalar> a, b;
        initial_pair(values, a, b);
        for (int body = 0; body < 3; ++body) {
            for (int c = 0; c < 3; ++c) {
                new_first_.x[body][c].set_lane(i, a.x[body][c]);
                new_first_.p[body][c].set_lane(i, a.p[body][c]);
                new_twin_.x[body][c].set_lane(i, b.x[body][c]);
                new_twin_.p[body][c].set_lane(i, b.p[body][c]);
            }
        }
    }

    VOLTPILE_HD void start(unsigned filled) {
        System<Real> first = new_first_;
        System<Real> twin = new_twin_;
        Integrator::start(first, constants_);
        Integrator::start(twin, constants_);
        for (int i = 0; i < count; ++i) {
            if ((filled >> i & 1U) == 0) continue;
            copy_lane(first, first_, i);
            copy_lane(twin, twin_, i);
        }
    }

    VOLTPILE_HD double advance(unsigned active) {
        int stretch = longest_stretch;
        for (int i = 0; i < count; ++i) {
            const int left = lane_[i].steps - lane_[i].state;
            if ((active >> i & 1U) != 0 && left < stretch) stretch = left;
        }
        System<Real> first = first_;
        System<Real> twin = twin_;
        Real closest_squared = closest_squared_;
        const Real limit(limit_);
        int k = 0;
        for (;; ++k) {
            const Real r2 = squared_length(first.x[0][0] - twin.x[0][0], first.x[0][1] - twin.x[0][1],
                                           first.x[0][2] - twin.x[0][2]);
            together_ = lanes_not_above(r2, limit);
            if constexpr (closest)
                closest_squared = smaller(smallest_squared_distance(first.x), closest_squared);
            if (__builtin_expect(((active & ~together_) != 0) | (k == stretch), 0)) break;
            Integrator::step(first, constants_);
            Integrator::step(twin, constants_);
        }
        first_ = first;
        twin_ = twin;
        closest_squared_ = closest_squared;
        for (int i = 0; i < count; ++i) {
            if ((active >> i & 1U) != 0) lane_[i].state += k;
        }
        return static_cast<double>(k) * __builtin_popcount(active);
    }

    VOLTPILE_HD unsigned decided(unsigned active) const {
        unsigned decided = active & ~together_;
        for (int i = 0; i < count; ++i) {
            if (lane_[i].state >= lane_[i].steps) decided |= active & 1U << i;
        }
        return decided;
    }

    VOLTPILE_HD const Outcome& outcome(int i) {
        const Lane& lane = lane_[i];
        outcome_ = Outcome();
        set_fixed_step_count(lane.parameters, lane.state, outcome_);
        if constexpr (closest)
            outcome_.closest_approach = square_root(static_cast<double>(closest_squared_.lane(i)));
        if (problem_.want_state) {
            System<Real> s = first_;
            Integrator::synchronize(s, constants_);
            System<double> state;
            for (int body = 0; body < 3; ++body) {
                for (int c = 0; c < 3; ++c) {
                    state.x[body][c] = static_cast<double>(s.x[body][c].lane(i));
                    state.p[body][c] = static_cast<double>(s.p[body][c].lane(i));
                }
            }
            set_state_fields<Scalar>(lane.parameters, state, outcome_);
        }
        return outcome_;
    }

  private:
    struct Lane {
        Parameters parameters;
        std::int32_t steps = 0;
        std::int32_t state = 0;  // steps done
    };

    const Problem& problem_;
    const double limit_;
    System<Real> first_, twin_;
    System<Real> new_first_, new_twin_;  // of lanes that have not started
    StepConstants<Real> constants_;
    Real closest_squared_;
    Lane lane_[count];
    unsigned together_ = 0;
    Outcome outcome_;
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
