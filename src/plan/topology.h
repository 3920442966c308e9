// Hosts, processors, GPUs and where the ranks stand, as plain data: read from the machine
// (run/discover_topology) or from data/clusters/*.toml, so that a plan for a thousand ranks can be made and
// tested on a laptop.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace voltpile {

struct Gpu {
    std::string name;
    int compute_capability = 0;  // 70 for V100
    int multiprocessors = 0;
    double clock_ghz = 0;  // boost
    std::int64_t memory_bytes = 0;
    double fp64_per_clock = 0;  // FP64 instructions (an FMA is one) per clock and multiprocessor
    double fp32_per_clock = 0;
    int numa_node = -1;
    int nvlink_island = -1;    // GPUs of a host with the same one all reach each other by NVLink; -1: none
    double pcie_gb_per_s = 0;  // gigabytes, one direction; 0: not known
};

struct Core {
    int pu = 0;  // operating-system index of its hardware thread to use; -1: whichever the system likes
    int numa_node = 0;
};

struct Host {
    std::string name;
    std::string cpu_name;
    double cpu_ghz = 0;
    int simd_bits = 128;  // widest that the kernels can use here
    std::int64_t memory_bytes = 0;
    std::vector<Core> cores;
    std::vector<Gpu> gpus;
    std::string transport;  // how MPI goes to other hosts: "TCP over eth0 (10 Gb/s)"; empty: not known
    double network_gbit_per_s = 0;  // of the fastest way out; 0: not known
    // Gigabytes a second and direction between GPUs [from][to]; 0: no NVLink. Empty: not known.
    std::vector<std::vector<double>> nvlink_gb_per_s;
};

// Where a rank was started, and what its launcher lets it use there.
struct RankPlace {
    int host = 0;
    int local_rank = 0;
    std::vector<int> allowed_cores;  // indices into Host::cores
    std::vector<int>
        visible_gpus;  // indices into Host::gpus, in the order in which CUDA counts them in this rank
};

struct Topology {
    std::vector<Host> hosts;
    std::vector<RankPlace> ranks;
};

// Fills in a GPU's FP64 and FP32 instructions per clock from its compute capability.
void set_throughput(Gpu& gpu);

}  // namespace voltpile
