// The queue of all replicas of a run, on rank 0: gives each request to a replica and passes its answer back.
//
// The replica that rank 0 itself leads has its engine here. The others have theirs on their leaders: orders
// and reports travel over a communicator of rank 0 and the leaders, which a thread of this object owns.
// Callbacks of their requests run on that thread, under the same rules as on the thread of an engine, but for
// empty deltas, which do not travel, and for a sequence that its callback ends, which may draw a few more
// tokens.
//
// A replica that fails gets no more requests while others work, and those that it has end with
// Finish::Failed once the reason is known, on the thread that finds out and after replicas() tells of it. The
// other replicas go on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "comm/mpi/communicator.h"
#include "llm/engine/engine.h"
#include "llm/session/queue_message.h"
#include "llm/session/replica_choice.h"
#include "llm/session/replica_state.h"

namespace voltpile::llm {

struct SharedQueueSettings {
    struct Leader {
        int rank = 0;      // in `link`; 0 is this rank
        std::string name;  // "rank 3 on node2"
    };
    std::vector<Leader> leaders;  // by replica
    Engine* engine = nullptr;     // of the replica that this rank leads, if it does
    EngineSettings requests;      // what requests are checked against, the same for all replicas
    bool text = true;             // the engines have a tokenizer
    // A leader reports every second. One that has begun to and then says nothing for so long is lost.
    std::chrono::milliseconds silence{20'000};
};

class SharedQueue final : public RequestQueue {
  public:
    // link: rank 0 of the world, which is its rank 0, and the leaders. It belongs to this object's thread
    // from now on.
    SharedQueue(const Communicator& link, SharedQueueSettings settings);
    ~SharedQueue() override;

    void cancel(std::int64_t id) override;
    void close() override;
    EngineCounters counters() const override;  // of all replicas together

    std::vector<ReplicaState> replicas() const;
    // Whether all requests have ended and their callbacks have returned.
    bool idle() const;

    // Gives up a replica, or all of them. Prints the reason if others go on; otherwise no_replica_left()
    // returns it, and the queue is closed. Thread-safe.
    void lose(int replica, const ReplicaFailure& failure);
    void lose_all(const ReplicaFailure& failure);
    bool lost_any() const;
    std::optional<ReplicaFailure> no_replica_left() const;

    // After close(): waits until the other replicas have ended all requests.
    void finish();

  private:
    using Clock = std::chrono::steady_clock;
    struct Route {
        int replica = 0;
        std::vector<std::int32_t> prompt;
        bool stopped = false;       // on_delta of a request of another rank returned false
        std::exception_ptr thrown;  // by it
        std::mutex mutex;           // of the three below; callbacks run with it locked
        OnDelta on_delta;
        OnEnd on_end;
        bool ended = false;
    };
    using RoutePtr = std::shared_ptr<Route>;
    struct Replica {
        EngineCounters counters;  // of other ranks, as reported; of a lost one, its last
        bool works = true;
        bool last = false;                       // it will report nothing more
        std::optional<Clock::time_point> heard;  // its last report
    };

    // Outcomes without on_end are dropped.
    void add(Request request, OnDelta on_delta, OnEnd on_end) override;
    void send(Request request, const RoutePtr& route);
    bool is_local(int replica) const { return leader(replica).rank == 0; }
    const SharedQueueSettings::Leader& leader(int replica) const {
        return settings_.leaders[static_cast<std::size_t>(replica)];
    }
    static bool tell(Route& route, const Delta& delta);
    void tell_of(const QueueEvent& event, Route& route);
    void end(std::int64_t id, Outcome outcome);
    void finish_route(Route& route, Outcome outcome);
    void run(const std::stop_token& stop);
    void take(int replica, QueueReport report);
    void lose_silent();
    using Routes = std::vector<std::pair<std::int64_t, RoutePtr>>;  // with their ids
    void end_lost(const Routes& routes, const ReplicaFailure& failure);

    // With the mutex locked:
    Replica& at(int replica) { return replicas_[static_cast<std::size_t>(replica)]; }
    RoutePtr extract(std::int64_t id, std::span<const std::int32_t> answer = {});
    bool withdraw(std::int64_t id);
    EngineCounters counters_of(int replica) const;
    void order(int replica, const QueueOrder& order);
    void order_cancel(int replica, std::int64_t id);
    bool all_last() const;
    Routes take_out(int replica);

    Communicator link_;
    SharedQueueSettings settings_;
    GrammarChecks grammar_checks_;  // for replicas on other ranks
    mutable std::mutex mutex_;      // of everything below; the last one to lock
    std::condition_variable_any changed_;
    ReplicaChoice choice_;
    std::vector<Replica> replicas_;
    std::unordered_map<std::int64_t, RoutePtr> routes_;  // of requests that have not ended
    std::deque<std::pair<int, std::string>> orders_;     // to a replica, not yet sent
    std::int64_t remote_ = 0;                            // routes to other ranks
    std::int64_t unfinished_ = 0;                        // requests whose last callback has not returned
    bool closed_ = false;
    std::optional<ReplicaFailure> no_replica_left_;
    std::jthread thread_;
};

}  // namespace voltpile::llm
