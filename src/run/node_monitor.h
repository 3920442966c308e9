// Samples the nodes of a job while it runs: on each host one rank watches, and all ranks know what its GPUs
// draw.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "comm/mpi/host_memory.h"
#include "machine/node_watch.h"

namespace voltpile {

class NodeMonitor {
  public:
    // Collective: every rank calls. Starts a NodeWatch on the first rank of each host.
    NodeMonitor(const Communicator& world, std::chrono::milliseconds every);
    ~NodeMonitor();
    NodeMonitor(const NodeMonitor&) = delete;
    NodeMonitor& operator=(const NodeMonitor&) = delete;

    // Returns what all GPUs of this node draw, in watts, from the newest sample; nothing if it is older than
    // `at_most`, or if a GPU does not say. Any thread of any rank; never waits.
    std::optional<double> gpu_power_w(std::chrono::milliseconds at_most) const;

    std::chrono::milliseconds every() const { return every_; }

    // On the first rank of each host; nullptr on the others.
    NodeWatch* watch() { return watch_.get(); }

  private:
    struct Page;
    void publish(const NodeSample& sample);

    std::chrono::milliseconds every_;
    HostMemory memory_;
    Page* page_;
    std::unique_ptr<NodeWatch> watch_;
};

}  // namespace voltpile
