// The passes of a replica, as one of its ranks plans them: that one (Replica::leads()) enqueues and collects,
// the others follow.
#pragma once

#include <deque>
#include <vector>

#include "comm/outbox.h"
#include "llm/engine/scheduler.h"
#include "llm/run/replica.h"

namespace voltpile::llm {

class ReplicaPasses final : public PassExecutor {
  public:
    // On the leader, while the others are in follow_passes(). The replica outlives it.
    explicit ReplicaPasses(Replica& replica);

    int lanes() const override;  // as many as there are stages
    bool feeds() const override;

    // What the replica has room for, for any scheduler of these passes. On GPUs the pace is measured, with
    // passes over the whole cache for a second or two; processors have none.
    SchedulerSettings measured_settings();

    void enqueue(const PlannedPass& pass) override;

    // A token is -1 where the logits were no numbers. Throws CommError if a rank is lost.
    std::vector<DrawnToken> collect() override;
    std::vector<TopTokens> top() override;

    // No more will come, and all have been collected: the others return.
    void end();

  private:
    void tell(std::string bytes);

    Replica& replica_;
    Outbox outbox_;
    std::deque<std::vector<int>> top_n_;  // of the draws of passes not yet collected
    std::vector<TopTokens> top_;          // of the one collected last
};

// On the other ranks: takes part in the leader's passes until it ends them. Throws as the leader.
void follow_passes(Replica& replica);

}  // namespace voltpile::llm
