// Hosts, processors, GPUs and the places of the ranks, as plain data: discovered on the machine
// (run/discover_topology) or read from a description (plan/cluster_file), so that a laptop can plan and test
// a thousand ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace voltpile {

struct Gpu {
    std::string name;
    int compute_capability = 0;  // 70 for V100
    int multiprocessors = 0;
    double clock_ghz = 0;  // boost clock
    std::int64_t memory_bytes = 0;
    double fp64_per_clock = 0;  // FP64 instructions (an FMA counts as one) per clock and multiprocessor
    double fp32_per_clock = 0;
    int numa_node = -1;
    int nvlink_island = -1;    // NVLink connects all GPUs of a host with the same number; -1: none
    double pcie_gb_per_s = 0;  // gigabytes per second, one direction; 0: unknown
};

struct Core {
    int pu = 0;  // operating-system index of the hardware thread to use; -1: any
    int numa_node = 0;
};

struct Host {
    std::string name;
    std::string cpu_name;
    double cpu_ghz = 0;
    int simd_bits = 128;  // widest SIMD vectors that the kernels can use
    std::int64_t memory_bytes = 0;
    std::vector<Core> cores;
    std::vector<Gpu> gpus;
    std::string transport;          // how MPI reaches other hosts: "TCP over eth0 (10 Gb/s)"; empty: unknown
    double network_gbit_per_s = 0;  // of the fastest network device; 0: unknown
    // NVLink bandwidth [from][to] in gigabytes per second, one direction; 0: no NVLink. Empty: unknown.
    std::vector<std::vector<double>> nvlink_gb_per_s;
};

// Where a rank runs and what its launcher lets it use.
struct RankPlace {
    int host = 0;
    int local_rank = 0;
    std::vector<int> allowed_cores;  // indices into Host::cores
    // Indices into Host::gpus, in the order in which CUDA numbers them in this rank.
    std::vector<int> visible_gpus;
};

struct Topology {
    std::vector<Host> hosts;
    std::vector<RankPlace> ranks;
};

// Sets a GPU's FP64 and FP32 instructions per clock from its compute capability.
void set_throughput(Gpu& gpu);

}  // namespace voltpile
