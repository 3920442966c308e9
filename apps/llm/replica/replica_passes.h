// The passes of a replica, as one of its ranks plans them: that one (Replica::leads()) enqueues and collects,
// the others follow. The one way to tokens drawn by a replica.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/mpi/outbox.h"
#include "llm/engine/scheduler.h"
#include "llm/replica/replica.h"

namespace voltpile::llm {

// An error that the leader of a replica meets alone between passes: the others are waiting for its next
// message, so run_passes() ends the passes in order and rethrows it, and with_replica() makes all ranks agree
// on it.
class LeaderError : public Error {
  public:
    using Error::Error;
};

class ReplicaPasses final : public PassExecutor {
  public:
    // On the leader, in run_passes(). The replica outlives it.
    explicit ReplicaPasses(Replica& replica);

    int lanes() const override;  // as many as there are stages
    bool feeds() const override;

    // What the replica has room for, for any scheduler of these passes.
    SchedulerSettings settings() const;
    // With the pace. On GPUs it is measured, with passes over the whole cache for a second or two; processors
    // have none. For many texts at once: one alone is in every pass at any pace.
    SchedulerSettings measured_settings();

    void enqueue(const PlannedPass& pass) override;

    // A token is -1 where the logits were no numbers. Throws CommError if a rank is lost.
    std::vector<DrawnToken> collect() override;
    std::vector<TopTokens> top() override;
    // Of the first rank with a sum that was not finite: where that was.
    std::string why_no_numbers() override;

    // Waits for the passes under way; no more will come: the others return.
    void end();

  private:
    void tell(std::string bytes);
    void ask_for_not_finite();

    Replica& replica_;
    Outbox outbox_;
    std::deque<std::vector<int>> top_n_;  // of the draws of each pass not yet collected
    std::vector<TopTokens> top_;          // of the one collected last
    std::string not_finite_;       // what the ranks said when they were asked last, of all passes by then
    bool asked_ = false;           // of the one collected last among others
    std::size_t asked_ahead_ = 0;  // of so many not yet collected, the oldest
};

// Collective over the team: the leader has `lead` plan the replica's passes, the others take part in them
// until it returns or throws LeaderError. Any other exception leaves the others where they are: see
// with_replica().
void run_passes(Replica& replica, const std::function<void(ReplicaPasses&)>& lead);

}  // namespace voltpile::llm
