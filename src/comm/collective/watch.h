// Detects enqueued work that does not end, without waiting for it.
#pragma once

#include <chrono>
#include <deque>
#include <mutex>

#include "device/stream.h"

namespace voltpile {

// Thread-safe. Without CUDA there is nothing to watch.
class CollectiveWatch {
  public:
    explicit CollectiveWatch(double deadline_s) : deadline_s_(deadline_s) {}
    ~CollectiveWatch();
    CollectiveWatch(const CollectiveWatch&) = delete;
    CollectiveWatch& operator=(const CollectiveWatch&) = delete;

    double deadline_s() const { return deadline_s_; }

    // Starts the deadline for all work enqueued on `stream` so far.
    void watch(const Stream& stream);

    // Returns true if watched work is late. Forgets what is done. Throws DeviceError if the GPU has failed.
    // Safe while a thread captures a graph.
    bool late();

  private:
    struct Entry {
        CUevent_st* event;
        std::chrono::steady_clock::time_point since;
    };
    const double deadline_s_;
    std::mutex mutex_;
    std::deque<Entry> open_;  // oldest first
};

}  // namespace voltpile
