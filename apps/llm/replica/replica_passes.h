// Runs the passes of a replica that draw tokens: the leader (Replica::leads()) plans, enqueues and collects
// them, and sends each to the other ranks, which follow.
#pragma once

#include <chrono>
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

// Makes passes of a model and of its draft model run on the GPU in the order in which they are enqueued: each
// rank then meets the same order of collectives.
class PassOrder {
  public:
    void begin(Replica& replica);  // call it before each pass is enqueued

  private:
    const Replica* last_ = nullptr;
};

// Sends the leader's messages about passes to the other ranks. The passes of a model and of its draft model
// share one, so that all ranks run them in the same order.
class PassSender {
  public:
    explicit PassSender(const Communicator& team) : team_(team), outbox_(team) {}
    const Communicator& team() const { return team_; }
    bool alone() const { return team_.size() == 1; }
    void send(std::string bytes);
    PassOrder& order() { return order_; }
    void drain() { outbox_.drain(); }

  private:
    const Communicator& team_;
    Outbox outbox_;
    PassOrder order_;
};

// Returns how long a rank polls for messages about passes before it sleeps in between. One that computes on
// its cores has none to spare.
std::chrono::microseconds patience_of(const Replica& replica);

// Returns PassExecutor::lanes() of a replica's passes: one for each pipeline stage.
int most_lanes(const Replica& replica);

class ReplicaPasses final : public PassExecutor {
  public:
    // Created by run_passes() on the leader. The arguments must outlive it. draft: whether the replica is
    // the draft model of the one that the ranks of the sender's team follow.
    ReplicaPasses(Replica& replica, PassSender& sender, bool draft);

    int lanes() const override { return most_lanes(replica_); }
    bool feeds() const override;

    // Returns the settings for a scheduler of these passes, without the pace.
    SchedulerSettings settings() const;
    // Returns the settings with the pace, for many sequences at once or guesses. On GPUs this measures the
    // pace for a second or two, with passes over the whole cache; on cores the pace stays unknown. A single
    // sequence is in every pass whatever the pace is. With guesses, measures passes of a few rows too.
    SchedulerSettings measured_settings();

    void enqueue(const PlannedPass& pass) override;
    void draw(const std::vector<Draw>& draws) override;

    // A token is -1 if its logits were not finite. Throws CommError if a rank is lost.
    std::vector<DrawnToken> collect() override;
    std::vector<TopTokens> top() override;
    // Names the first sum that was not finite, on the first rank that has one.
    std::string why_no_numbers() override;

    void end();  // waits for the passes in flight

  private:
    void send(char mark, const std::string& bytes = {});
    void ask_for_not_finite();

    Replica& replica_;
    PassSender& sender_;
    bool draft_;
    std::deque<std::vector<int>> top_n_;  // of each pass not yet collected: top_n of its draws
    std::vector<TopTokens> top_;          // of the pass collected last
    std::string not_finite_;       // the answer to the last question to all ranks, for all passes until then
    bool asked_ = false;           // whether that covers the pass collected last
    std::size_t asked_ahead_ = 0;  // how many passes not yet collected, from the oldest, it covers too
};

// Calls `lead` on the leader, which plans the replica's passes; the other ranks take part in them until
// `lead` returns or throws LeaderError. Collective over the team. Any other exception leaves the other ranks
// waiting: with_replica() handles that.
void run_passes(Replica& replica, const std::function<void(ReplicaPasses&)>& lead);

// The same with the passes of the draft model too, on the same ranks or on its own; nullptr if the replica
// has none.
void run_passes_with_draft(Replica& replica,
                           const std::function<void(ReplicaPasses&, PassExecutor* draft)>& lead);

}  // namespace voltpile::llm
