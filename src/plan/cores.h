// The cores of a host: how fast one is, and which rank computes on which.
#pragma once

#include <vector>

#include "plan/topology.h"

namespace voltpile {

// Numbers processed a second by one core: vectors of the type, times lanes, as far as the kernels reach it
// (docs/benchmarks.md has what they were measured at).
double core_lanes_per_s(const Host& host, bool fp64);

// How many vectors of the host's width a core multiplies and adds in one clock. At 512 bits that depends on
// the model: Intel lists it as "number of AVX-512 FMA units", and AMD's Zen 4 takes two clocks for two
// halves.
int vector_units(const Host& host);

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
