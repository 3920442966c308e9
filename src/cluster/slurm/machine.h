// The cluster as Slurm describes it: nodes, partitions, and the topology of a job on some of the nodes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/slurm/text.h"
#include "plan/topology.h"

namespace voltpile {

struct SlurmNode {
    std::string name;
    std::string state;  // "IDLE", "MIXED+DRAIN", "DOWN*"
    int sockets = 1;
    int cores = 1;          // physical cores that jobs may use
    int cpus_per_core = 1;  // Slurm CPUs (--cpus-per-task) in a core: hardware threads on most sites
    double memory_mb = 0;
    std::vector<GresGpus> gpus;
    std::vector<std::string> partitions;

    int gpu_count() const;
    bool usable() const;  // neither down nor drained nor unresponsive; may be busy
};

struct SlurmPartition {
    std::string name;
    bool is_default = false;
    std::string state;           // "UP"
    double max_time_s = 0;       // infinity: no limit
    std::int64_t max_nodes = 0;  // of one job; INT64_MAX: no limit
    std::int64_t max_cpus_per_node = 0;
    std::string preempt_mode;
};

struct SlurmMachine {
    std::vector<SlurmNode> nodes;
    std::vector<SlurmPartition> partitions;
    std::int64_t max_array_size = 0;  // highest array index plus one
};

// Parses the output of `scontrol --oneliner show node`, `scontrol --oneliner show partition` and
// `scontrol show config`.
SlurmMachine parse_machine(std::string_view nodes, std::string_view partitions, std::string_view config);

// Queries Slurm. Throws MachineError if Slurm is not installed or does not respond.
SlurmMachine read_machine();

// Runs one of Slurm's programs and returns its output. Throws MachineError as above, with Slurm's message.
std::string ask_slurm(const std::vector<std::string>& command);
// Throws MachineError that says what to do if `program` is not installed.
void require_slurm(const std::string& program);

// The speeds of the nodes' processors, which Slurm does not know.
struct NodeSpeeds {
    std::vector<Host> described;  // from --cluster; may be empty
    // Returns the described host of this name, else an AVX2 processor at 2 GHz: estimates are rather too long
    // than too short.
    Host of(const SlurmNode& node) const;
};

// The share of each node that a job gets. cores must not exceed the cores of any node.
struct NodeShare {
    int ranks = 1;
    int cores = 1;
    int gpus = 0;
};

// Returns the topology that a job finds on these nodes.
Topology topology_of(std::span<const SlurmNode> nodes, const NodeShare& share, const NodeSpeeds& speeds);

}  // namespace voltpile
