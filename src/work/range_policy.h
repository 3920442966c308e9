// How large the next range of a team shall be. Guided self-scheduling: a share of what remains in proportion
// to the team's speed, so that ranges shrink towards the end and unequal processors finish together; never
// longer than `range_seconds`, never so short that handing it out costs more than computing it. Pure: no
// clock, no messages.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "work/range_set.h"
#include "work/work_range.h"

namespace voltpile {

struct RangeLimits {
    double range_seconds = 2.0;   // the longest a range should take its team
    std::int64_t max_points = 0;  // 0: no limit by number
};

class RangePolicy {
  public:
    // todo: what is to be computed. points_per_s: each team's estimated speed; 0: it never asks.
    RangePolicy(RangeSet todo, std::vector<double> points_per_s, RangeLimits limits);

    // The next range for `team`; nothing when all has been handed out.
    std::optional<WorkRange> next(int team);

    // The team's measured speed replaces the estimate.
    void set_speed(int team, double points_per_s);

    std::int64_t remaining() const { return todo_.size(); }

  private:
    RangeSet todo_;
    std::vector<double> points_per_s_;
    std::vector<bool> measured_;
    RangeLimits limits_;
};

}  // namespace voltpile
