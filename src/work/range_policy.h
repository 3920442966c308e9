// Decides how large the next range of a team is (guided self-scheduling). A range is a share of the remaining
// points in proportion to the team's speed, so ranges shrink towards the end and unequal processors finish
// together. No range takes longer than `range_seconds`, unless single points do, and none is so short that
// handing it out costs more than computing it. Pure: no clock, no messages.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "work/range_set.h"
#include "work/work_range.h"

namespace voltpile {

struct RangeLimits {
    double range_seconds = 2.0;   // longest time a range should take its team
    std::int64_t max_points = 0;  // 0: no limit by number
    // Points that each team computes side by side: fewer take no less time. Empty: one.
    std::vector<std::int64_t> side_by_side = {};
};

class RangePolicy {
  public:
    // todo: the points to compute. points_per_s: each team's estimated speed; 0: the team requests no ranges.
    RangePolicy(RangeSet todo, std::vector<double> points_per_s, RangeLimits limits);

    // Returns the next range for `team`; nothing when all points are handed out.
    std::optional<WorkRange> next(int team);

    // Replaces the estimate by the team's measured speed.
    void set_speed(int team, double points_per_s);

    std::int64_t remaining() const { return todo_.size(); }

  private:
    RangeSet todo_;
    double all_points_;  // at the start
    std::vector<double> points_per_s_;
    std::vector<bool> measured_;
    RangeLimits limits_;
};

}  // namespace voltpile
