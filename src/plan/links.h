// What connects ranks and hosts.
#pragma once

#include <string>

#include "plan/plan.h"

namespace voltpile {

struct RankLink {
    std::string text;               // "NVLink", "PCIe", "network", "host memory"
    double theory_bytes_per_s = 0;  // one direction; 0: unknown
};

// Returns the link between the GPUs of two ranks if both have one, else between their hosts' memories.
// cluster.ranks_per_node has no effect: ranks on one host do not communicate through the network.
RankLink link_between(const Plan& plan, int a, int b);

// Describes how MPI goes between hosts: "node1, node2: UCX over mlx5_0 (100 Gb/s); node3: TCP over eth0".
// Hosts with the same transport stand together; at most eight of them are named.
std::string transports_text(const Topology& topology);

}  // namespace voltpile
