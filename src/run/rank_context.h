// What one rank owns and knows while a job runs: passed to the app instead of globals.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace voltpile {

class RankContext {
  public:
    RankContext(const Plan& plan, int world_rank) : plan_(plan), world_rank_(world_rank) {}

    const Plan& plan() const { return plan_; }
    const RankPlan& mine() const { return plan_.ranks[static_cast<std::size_t>(world_rank_)]; }
    int world_rank() const { return world_rank_; }

  private:
    const Plan& plan_;
    int world_rank_;
};

}  // namespace voltpile
