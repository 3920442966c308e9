// The queue of all replicas of a run, on rank 0: gives each request to a replica and passes its answer back.
//
// The replica that rank 0 itself leads has its engine here. The others have theirs on their leaders: orders
// and reports travel over a communicator of rank 0 and the leaders, which a thread of this object owns.
// Callbacks of their requests run on that thread, under the same rules as on the thread of an engine, but for
// empty deltas, which do not travel, and for a sequence that its callback ends, which may draw a few more
// tokens.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "comm/mpi/communicator.h"
#include "llm/engine/engine.h"
#include "llm/session/queue_message.h"
#include "llm/session/replica_choice.h"

namespace voltpile::llm {

struct SharedQueueSettings {
    // The rank in `link` of each replica's leader; 0 is this rank.
    std::vector<int> leaders;
    Engine* engine = nullptr;  // of the replica that this rank leads, if it does
    EngineSettings requests;   // what requests are checked against, the same for all replicas
    bool text = true;          // the engines have a tokenizer
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

    // The counters of each replica; those of others are up to a tenth of a second old.
    std::vector<EngineCounters> counters_of_replicas() const;

    // After close(): waits until the other replicas have ended all requests. Throws CommError.
    void finish();

  private:
    struct Route {
        int replica = 0;
        OnDelta on_delta;
        OnEnd on_end;
        bool stopped = false;       // on_delta returned false
        std::exception_ptr thrown;  // by on_delta
    };

    // Outcomes without on_end are dropped.
    void add(Request request, OnDelta on_delta, OnEnd on_end) override;
    bool is_local(int replica) const { return settings_.leaders[static_cast<std::size_t>(replica)] == 0; }
    // With the mutex locked:
    void order(int replica, const QueueOrder& order);
    void order_cancel(int replica, std::int64_t id);

    void end(std::int64_t id, Outcome outcome);
    void run(const std::stop_token& stop);
    void take(int replica, QueueReport report);
    void tell(const QueueEvent& event, Route& route);

    Communicator link_;
    SharedQueueSettings settings_;
    mutable std::mutex mutex_;  // of everything below
    std::condition_variable_any changed_;
    ReplicaChoice choice_;
    std::unordered_map<std::int64_t, std::unique_ptr<Route>> routes_;  // of requests that have not ended
    std::deque<std::pair<int, std::string>> orders_;                   // to a rank of link_, not yet sent
    std::vector<EngineCounters> counters_;                             // by replica
    std::vector<bool> last_;  // by replica: it will report nothing more
    int remote_ = 0;          // requests of other ranks that have not ended
    bool closed_ = false;
    std::exception_ptr failure_;
    std::jthread thread_;
};

}  // namespace voltpile::llm
