// Requests and cancellations on their way from any thread to the thread of an engine.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "llm/engine/request_queue.h"

namespace voltpile::llm {

class Inbox {
  public:
    struct Arrival {
        Request request;
        OnDelta on_delta;
        OnEnd on_end;
        std::chrono::steady_clock::time_point submitted;
    };
    struct Contents {
        std::vector<Arrival> arrivals;  // in the order of add()
        std::vector<std::int64_t> cancelled;
    };

    // Any thread may call these. add() throws as RequestQueue::submit() does for ids and after close().
    void add(Arrival arrival);
    void cancel(std::int64_t id);
    void close();
    int arrivals() const;  // not yet taken

    // For the thread of the engine:
    // Returns what has come since the last call; never waits.
    Contents take();
    bool empty() const;
    // Sleeps until there is something to take. Returns false if nothing will come any more.
    bool wait();
    // The request has ended: its id may be used again.
    void forget(std::int64_t id);

  private:
    bool empty_locked() const { return contents_.arrivals.empty() && contents_.cancelled.empty(); }

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    Contents contents_;
    std::unordered_set<std::int64_t> ids_;  // of requests that have not ended
    bool closed_ = false;
};

}  // namespace voltpile::llm
