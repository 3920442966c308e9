// The cores of one host, divided among the ranks on it: no core to two ranks unless there are too few.
#pragma once

#include <vector>

#include "plan/topology.h"

namespace voltpile {

// The ranks of one host, as indices into Topology::ranks, by what they need.
struct HostRanks {
    std::vector<int> with_gpu;          // one core each, to drive it ...
    std::vector<int> numa_node_of_gpu;  // ... near it
    std::vector<int> on_cores;          // share all the others
};

// cores[i] for rank i of Topology::ranks; ranks of other hosts are left alone. Ranks with equal permissions
// get contiguous blocks, which keeps a rank on one socket where possible. A rank for which no core is left
// shares one: returns how many such ranks there are.
int divide_cores(const Topology& topology, const Host& host, const HostRanks& ranks,
                 std::vector<std::vector<int>>& cores);

}  // namespace voltpile
