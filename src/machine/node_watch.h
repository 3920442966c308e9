// Samples this node all the time: its GPUs through voltpile-probe, so that a hung driver cannot hang the
// program, and the host itself, which goes on while the driver hangs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "machine/host_meter.h"
#include "machine/node_sample.h"

namespace voltpile {

// The least time between two samples.
inline constexpr std::chrono::milliseconds kFastestSampling{100};

class NodeWatch {
  public:
    // Starts voltpile-probe and a thread that reads its samples and, once a second at most, the host's
    // numbers, which samples in between repeat. If the driver does not answer for five seconds, samples of
    // the host alone follow, with the problem. look: called on that thread with each new sample; must not
    // block.
    explicit NodeWatch(
        std::chrono::milliseconds every,
        std::function<void(const NodeSample&)> look = [](const NodeSample&) {});
    ~NodeWatch();  // ends both; takes at most four seconds, if the driver hangs
    NodeWatch(const NodeWatch&) = delete;
    NodeWatch& operator=(const NodeWatch&) = delete;

    // All functions: any thread.

    // Returns the newest sample. gpus.problem says what is wrong, such as "the NVIDIA driver hangs: ...";
    // before the first sample of GPUs it is "not sampled yet". energy_j is that of its last reading.
    NodeSample latest() const;

    // Waits for the first sample of GPUs or the first problem, at most until the deadline.
    void await_first(std::chrono::milliseconds deadline) const;

    // Returns the samples since the previous call, oldest first. Keeps the last thousand until then.
    std::vector<NodeSample> take();

  private:
    void read_loop();
    std::string follow_probe();
    bool closing() const;
    bool host_is_due() const;
    HostReading host();
    void add(NodeSample sample, bool begun);
    void add_host_alone(const NodeGpus& none, bool begun);

    const std::chrono::milliseconds every_;
    const std::function<void(const NodeSample&)> look_;
    // Of the thread.
    HostMeter meter_;
    HostReading host_;
    std::optional<std::chrono::steady_clock::time_point> host_at_;

    mutable std::mutex mutex_;  // of the rest
    mutable std::condition_variable changed_;
    NodeSample latest_;
    bool begun_ = false;
    bool closing_ = false;
    const int wake_;  // ends the thread's wait for the probe
    std::deque<NodeSample> fresh_;
    std::thread thread_;
};

}  // namespace voltpile
