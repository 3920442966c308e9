// Shows what a job and its nodes do while it runs: in files for `voltpile top` (run/live_status.h), and as
// Prometheus text on a port of each node.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "http/server.h"
#include "run/live_status.h"
#include "run/node_monitor.h"
#include "run/runner.h"

namespace voltpile {

class StatusBoard {
  public:
    // Starts a thread on rank 0 and on the first rank of each host. life: where this rank commits. monitor:
    // outlives this; nullptr: the job's nodes are not sampled. A port that is taken is a warning.
    StatusBoard(int rank, const JobSpec& job, const Life& life, NodeMonitor* monitor);
    ~StatusBoard();
    StatusBoard(const StatusBoard&) = delete;
    StatusBoard& operator=(const StatusBoard&) = delete;

    // Rank 0. Any thread.
    void set(LiveJob job);

  private:
    void show(const std::stop_token& stop);
    void listen(const std::string& host, int port);
    LiveNode node() const;
    std::string metrics() const;

    const Life life_;
    NodeWatch* watch_ = nullptr;
    mutable std::mutex mutex_;
    LiveJob job_;
    std::unique_ptr<http::Server> server_;
    std::jthread thread_;
};

}  // namespace voltpile
