// Shows what a job and its nodes do while it runs: in files for `voltpile top` (run/live_status.h), and as
// Prometheus text on a port of each node.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "http/server.h"
#include "run/live_status.h"
#include "run/node_monitor.h"
#include "run/runner.h"
#include "run/telemetry_recorder.h"

namespace voltpile {

class StatusBoard {
  public:
    // Starts a thread on rank 0 and on the first rank of each host. life: where this rank commits. monitor:
    // outlives this; nullptr: the job's nodes are not sampled. A port that is taken is a warning.
    StatusBoard(int rank, const PreparedJob& job, const Life& life, NodeMonitor* monitor);
    // The same for a service, which has no result: its nodes' files are beside the address file; empty: there
    // are none.
    StatusBoard(const TelemetryRequest& request, std::filesystem::path address_file, NodeMonitor* monitor);
    ~StatusBoard();
    StatusBoard(const StatusBoard&) = delete;
    StatusBoard& operator=(const StatusBoard&) = delete;

    // Rank 0. Any thread. Adds the addresses of the nodes.
    void set(LiveJob job);

  private:
    void show(const std::stop_token& stop);
    void listen(const TelemetryRequest& request);
    LiveNode node() const;
    std::string metrics() const;

    void write_node() const;

    const std::optional<Life> life_;
    const std::filesystem::path address_file_;      // of a service
    std::map<std::string, std::string> addresses_;  // of the job's nodes, on rank 0
    NodeWatch* watch_ = nullptr;
    mutable std::mutex mutex_;
    LiveJob job_;
    std::unique_ptr<http::Server> server_;
    std::jthread thread_;
};

}  // namespace voltpile
