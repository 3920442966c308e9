// Measures the network between hosts with a small MPI program on all of them: mpirun starts this program as
// `hosts --probe`, one rank per host.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cluster/hosts/host_file.h"
#include "cluster/hosts/sessions.h"

namespace voltpile {

// How a rank reaches the network.
struct LinkEnd {
    std::string hostname;
    std::string transport;  // what MPI uses: "TCP over eth0 (10 Gb/s)"
    std::string device;     // device that sent the most bytes by its counter; empty: none
};

struct LinkSurvey {
    std::vector<std::string> hosts;  // by rank, as in the host file
    std::vector<LinkEnd> ends;       // by rank; empty if the measurement did not finish
    double ring_hop_us = 0;
    std::vector<std::vector<double>> latency_us;   // [a][b] = [b][a], 0: not measured
    std::vector<std::vector<double>> bytes_per_s;  // [from][to], 0: not measured
    std::string failure;                           // why figures are missing; empty: none are
    std::optional<std::pair<int, int>> stuck;      // the pair at which the measurement stopped
    bool small_messages_pass = false;              // between the stuck pair

    bool complete() const { return failure.empty(); }
};

struct LinkOptions {
    std::string program;                   // absolute path, the same on every host
    std::vector<std::string> probe_flags;  // further arguments for `hosts --probe`
    ProgressListener progress;
};

// Returns how long to measure each pair, so that all pairs take about ten seconds.
double seconds_per_pair(std::size_t hosts);

// Measures the links between all hosts. Always ends the processes it started, even an mpirun that waits for a
// dead host. Never throws for a failed measurement: LinkSurvey::failure describes it.
LinkSurvey measure_hosts(std::span<const HostEntry> hosts, const LinkOptions& options);

// Reads a line that rank 0 of the probe printed. If a pair is measured several times, the best figure counts.
// Returns whether it was the last line.
bool take_in(const std::string& line, LinkSurvey& survey);

}  // namespace voltpile
