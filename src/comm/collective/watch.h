// Detects enqueued work that does not end, without waiting for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>

#include "comm/collective/stream_communicator.h"

namespace voltpile {

// Thread-safe. Without CUDA there is nothing to watch.
class CollectiveWatch {
  public:
    explicit CollectiveWatch(double deadline_s) : deadline_s_(deadline_s) {}
    ~CollectiveWatch();
    CollectiveWatch(const CollectiveWatch&) = delete;
    CollectiveWatch& operator=(const CollectiveWatch&) = delete;

    double deadline_s() const { return deadline_s_; }

    // Starts the deadline for all work enqueued on `stream` so far. Does nothing while the stream captures a
    // graph.
    void watch(const Stream& stream);

    // Returns true if no watched work has finished for the deadline although there is some. Forgets what is
    // done. Throws DeviceError if the GPU has failed. Safe while a thread captures a graph.
    bool late();

    // As of the last late().
    WatchedWork watched() const;

  private:
    struct Entry {
        CUevent_st* event;
        std::chrono::steady_clock::time_point since;
    };
    const double deadline_s_;
    mutable std::mutex mutex_;
    std::deque<Entry> open_;  // oldest first
    std::int64_t finished_ = 0;
    std::chrono::steady_clock::time_point moved_;  // when late() last found work finished
};

}  // namespace voltpile
