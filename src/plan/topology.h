// Hosts, processors, GPUs and the places of the ranks, as plain data: discovered on the machine
// (run/discover_topology) or read from a description (plan/cluster_file), so that a laptop can plan and test
// a thousand ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/device_tree.h"

namespace voltpile {

struct Gpu {
    std::string name;
    int compute_capability = 0;  // 70 for V100
    int multiprocessors = 0;
    double clock_ghz = 0;  // boost clock
    std::int64_t memory_bytes = 0;
    double fp64_per_clock = 0;  // FP64 instructions (an FMA counts as one) per clock and multiprocessor
    double fp32_per_clock = 0;
    int nvlink_island = -1;      // NVLink connects all GPUs of a host with the same number; -1: none
    double pcie_gb_per_s = 0;    // gigabytes per second, one direction; 0: unknown
    double memory_gb_per_s = 0;  // its memory's bandwidth in gigabytes per second; 0: unknown
    double watts = 0;            // its power limit; 0: unknown
    PciePlace place;
    bool operator==(const Gpu&) const = default;
};

// A rate that `voltpile calibrate` has measured on a host (plan/calibration.h).
struct MeasuredRate {
    std::string work;       // "threebody euler fp64"
    std::string processor;  // a GPU's name; empty: a core, where all cores work at once
    double per_s = 0;
    bool operator==(const MeasuredRate&) const = default;
};

struct Core {
    int pu = 0;  // operating-system index of the hardware thread to use; -1: any
    int numa_node = 0;
    bool operator==(const Core&) const = default;
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
    // NVLink bandwidth [from][to] in gigabytes per second, one direction, and the number of links; 0: no
    // NVLink. Empty: unknown.
    std::vector<std::vector<double>> nvlink_gb_per_s;
    std::vector<std::vector<int>> nvlinks;
    bool nvswitch = false;  // the NVLinks go through switches, which connect all GPUs of an island

    std::vector<PcieNode> pcie;  // root complexes and switches, each after its parent
    std::vector<Nic> nics;
    std::vector<int> socket_of_numa_node;  // empty: each NUMA node is a socket
    double memory_gb_per_s = 0;            // bandwidth of its memory in gigabytes per second; 0: unknown
    double watts = 0;                      // of the whole host under full load; 0: unknown
    std::vector<MeasuredRate> measured;
    std::string calibrated;           // when and by what: "2026-11-23 07:08 by voltpile 0.2.0"; empty: never
    std::string calibration_problem;  // why a calibration that exists is not used

    // Returns a measured rate; 0 if it was not measured.
    double measured_rate(const std::string& work, const std::string& processor) const {
        for (const MeasuredRate& each : measured)
            if (each.work == work && each.processor == processor) return each.per_s;
        return 0;
    }
    // Returns the socket of a NUMA node, -1 for an unknown node.
    int socket(int numa_node) const {
        if (numa_node < 0 || static_cast<std::size_t>(numa_node) >= socket_of_numa_node.size())
            return numa_node;
        return socket_of_numa_node[static_cast<std::size_t>(numa_node)];
    }
    bool operator==(const Host&) const = default;
};

// Where a rank runs and what its launcher lets it use.
struct RankPlace {
    int host = 0;
    int local_rank = 0;
    std::vector<int> allowed_cores;  // indices into Host::cores
    // Indices into Host::gpus, in the order in which CUDA numbers them in this rank.
    std::vector<int> visible_gpus;
};

// What a machine description says beside the hosts.
struct MachineNotes {
    std::string description;           // one sentence
    std::vector<std::string> sources;  // of the facts
    double price_usd = 0;              // of one host; 0: unknown
    std::string price_source;          // with its date
};

struct Topology {
    std::vector<Host> hosts;
    std::vector<RankPlace> ranks;
    MachineNotes notes;
};

// Sets a GPU's FP64 and FP32 instructions per clock from its compute capability.
void set_throughput(Gpu& gpu);

}  // namespace voltpile
