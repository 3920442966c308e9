// The network between the hosts, measured by a small MPI program on all of them: this very program, started
// by mpirun with `hosts --probe` and one rank a host.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cluster/hosts/host_file.h"
#include "cluster/hosts/sessions.h"

namespace voltpile {

// What a rank says of its way into the network.
struct LinkEnd {
    std::string hostname;
    std::string transport;  // "TCP over eth0 (10 Gb/s)": what MPI was told and chose
    std::string device;     // through which most bytes went, as its counter says; empty: through none
};

struct LinkSurvey {
    std::vector<std::string> hosts;  // by rank, as in the host file
    std::vector<LinkEnd> ends;       // by rank; empty if it did not come to its end
    double ring_hop_us = 0;
    std::vector<std::vector<double>> latency_us;   // [a][b] = [b][a], 0: not measured
    std::vector<std::vector<double>> bytes_per_s;  // [from][to], 0: not measured
    std::string failure;                           // why there are no or not all figures
    std::optional<std::pair<int, int>> stuck;      // the pair at which it stopped
    bool small_messages_pass = false;              // between these two

    bool complete() const { return failure.empty(); }
};

struct LinkOptions {
    std::string program;                   // absolute path, the same on every host
    std::vector<std::string> probe_flags;  // further arguments of `hosts --probe`
    ProgressListener progress;
};

// About how long to measure each pair, so that all of them take ten seconds or so.
double seconds_per_pair(std::size_t hosts);

// Ends what it has started, however it ends: also a mpirun that waits for a host that has gone.
LinkSurvey measure_hosts(std::span<const HostEntry> hosts, const LinkOptions& options);

// A line of the probe's answers, of which rank 0 says one at each step. Of several figures of a pair the best
// counts. Returns whether it was the last line.
bool take_in(const std::string& line, LinkSurvey& survey);

}  // namespace voltpile
