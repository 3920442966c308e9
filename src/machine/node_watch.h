// Samples this node all the time through voltpile-probe, so that a hung driver cannot hang the program.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "machine/node_sample.h"

namespace voltpile {

// The least time between two samples.
inline constexpr std::chrono::milliseconds kFastestSampling{100};

class NodeWatch {
  public:
    // Starts voltpile-probe and a thread that reads its samples. look: called on that thread with each new
    // sample, and with one that has only a problem if there are no more; must not block.
    explicit NodeWatch(
        std::chrono::milliseconds every,
        std::function<void(const NodeSample&)> look = [](const NodeSample&) {});
    ~NodeWatch();  // ends both; takes at most four seconds, if the driver hangs
    NodeWatch(const NodeWatch&) = delete;
    NodeWatch& operator=(const NodeWatch&) = delete;

    // All functions: any thread.

    // Returns the newest sample. gpus.problem says what is wrong, such as "the NVIDIA driver hangs: ...";
    // before the first sample it is "not sampled yet".
    NodeSample latest() const;

    // Waits for the first sample or the first problem, at most until the deadline.
    void await_first(std::chrono::milliseconds deadline) const;

    // Returns the samples since the previous call, oldest first. Keeps the last thousand until then.
    std::vector<NodeSample> take();

  private:
    void read_loop();
    void add(NodeSample sample);
    void report(std::string problem, bool hung);

    const std::chrono::milliseconds every_;
    const std::function<void(const NodeSample&)> look_;
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    NodeSample latest_;
    bool begun_ = false;
    bool closing_ = false;
    std::deque<NodeSample> fresh_;
    std::thread thread_;
};

}  // namespace voltpile
