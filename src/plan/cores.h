// The cores of a host: how fast one is, and which rank computes on which.
#pragma once

#include <vector>

#include "plan/topology.h"

namespace voltpile {

// Returns the estimated rate of one core: SIMD lanes of the type per second that the kernels reach
// (docs/benchmarks.md has the measurements).
double core_lanes_per_s(const Host& host, bool fp64);

// Returns the clock cycles of one core a second, times its SIMD lanes of the type.
double core_lane_cycles_per_s(const Host& host, bool fp64);

// Returns how many vector FMAs of the host's width a core starts per clock. At 512 bits it depends on the
// model: Intel lists the "number of AVX-512 FMA units"; AMD's Zen 4 splits a vector into two halves.
int vector_units(const Host& host);

// The ranks of one host by what they need, as indices into Topology::ranks.
struct HostRanks {
    std::vector<int> with_gpu;  // get a core near their GPU each, and the others there if these are free
    std::vector<int> numa_node_of_gpu;  // [i]: the NUMA node near the GPU of with_gpu[i]
    std::vector<int> on_cores;          // share the remaining cores
};

// Divides the cores of a host among its ranks: fills cores[r] for each rank r of Topology::ranks on this
// host. Ranks that may use the same cores get contiguous blocks, which keeps a rank on one socket where
// possible. A rank for which no core is left shares one; returns the number of such ranks.
int divide_cores(const Topology& topology, const Host& host, const HostRanks& ranks,
                 std::vector<std::vector<int>>& cores);

// Returns how many NUMA nodes these cores of the host belong to.
int numa_nodes_of(const Host& host, const std::vector<int>& cores);

}  // namespace voltpile
