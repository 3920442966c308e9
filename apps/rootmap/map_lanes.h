// Maps on the CPU: one point in each SIMD lane.
#pragma once

#include "rootmap/point.h"
#include "sweep/simd_double_double.h"

namespace voltpile::rootmap {
inline namespace VOLTPILE_TARGET {

// sweep/cpu_lanes.h says what the members are for. Map: RootMap, EscapeMap or AttractorMap. Real: a SIMD
// register, or DoubleDouble of one.
template <class Map, class Real>
class MapLanes {
    using Scalar = typename Real::Scalar;
    using Number = typename PointNumber<Scalar>::type;
    static constexpr int longest_stretch = 4096;  // iterations until idle lanes ask again

  public:
    static constexpr int count = Real::lanes;
    static constexpr double units_between_reports = count * (1 << 14);

    VOLTPILE_HD explicit MapLanes(const Problem& problem)
        : problem_(problem),
          least_(Map::escapes ? 0.0 : problem.tolerance * problem.tolerance),
          most_(Map::escapes ? problem.escape_radius * problem.escape_radius : problem.largest_measure) {}

    VOLTPILE_HD void begin(int i, std::int64_t point) {
        State<Number> state;
        MapConstants<Number> constants;
        begin_point(problem_, parameters_in<Number>(problem_, point), state, constants);
        for (int k = 0; k < state_numbers; ++k)
            numbers(fresh_)[k].set_lane(i, static_cast<Scalar>(reinterpret_cast<const Number*>(&state)[k]));
        for (int k = 0; k < constant_numbers; ++k)
            constants_.value[k].set_lane(i, static_cast<Scalar>(constants.value[k]));
        done_[i] = 0;
    }

    VOLTPILE_HD void start(unsigned filled) {
        State<Real> fresh = fresh_;
        Map::start(problem_, fresh);
        for (int i = 0; i < count; ++i) {
            if ((filled >> i & 1U) == 0) continue;
            for (int k = 0; k < state_numbers; ++k) numbers(state_)[k].set_lane(i, numbers(fresh)[k].lane(i));
        }
    }

    VOLTPILE_HD double advance(unsigned active) {
        int stretch = longest_stretch;
        for (int i = 0; i < count; ++i) {
            const int left = problem_.max_iterations - done_[i];
            if ((active >> i & 1U) != 0 && left < stretch) stretch = left;
        }
        State<Real> s;
        copy_state(state_, s);
        const MapConstants<Real> constants = constants_;
        const Real least(least_), most(most_);
        int k = 0;
        for (;; ++k) {
            undecided_ = lanes_not_above(s.measure, most);
            if constexpr (!Map::escapes) undecided_ &= lanes_not_above(least, s.measure);
            if (__builtin_expect(((active & ~undecided_) != 0) | (k == stretch), 0)) break;
            Map::step(problem_, constants, s);
        }
        copy_state(s, state_);
        for (int i = 0; i < count; ++i) {
            if ((active >> i & 1U) != 0) done_[i] += k;
        }
        return static_cast<double>(k) * __builtin_popcount(active);
    }

    VOLTPILE_HD unsigned decided(unsigned active) const {
        unsigned decided = active & ~undecided_;
        for (int i = 0; i < count; ++i) {
            if (done_[i] >= problem_.max_iterations) decided |= active & 1U << i;
        }
        return decided;
    }

    VOLTPILE_HD const Outcome& outcome(int i) {
        State<double> s;
        for (int k = 0; k < state_numbers; ++k)
            reinterpret_cast<double*>(&s)[k] = static_cast<double>(numbers(state_)[k].lane(i));
        set_outcome(problem_, s, done_[i], (undecided_ >> i & 1U) != 0, outcome_);
        return outcome_;
    }

  private:
    static VOLTPILE_HD Real* numbers(State<Real>& s) { return reinterpret_cast<Real*>(&s); }

    const Problem& problem_;
    const double least_, most_;  // a point is undecided while its measure is between them
    State<Real> state_{};
    State<Real> fresh_{};  // of lanes that have not started
    MapConstants<Real> constants_{};
    std::int32_t done_[count] = {};  // iterations
    unsigned undecided_ = 0;
    Outcome outcome_;
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::rootmap
