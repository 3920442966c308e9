// The cluster as Slurm describes it: nodes and partitions, and the Topology that a job would find on some of
// them.
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
    int cores = 1;          // physical ones, which jobs may use
    int cpus_per_core = 1;  // what --cpus-per-task counts: hardware threads, on most sites
    double memory_mb = 0;
    std::vector<GresGpus> gpus;
    std::vector<std::string> partitions;

    int gpu_count() const;
    bool usable() const;  // neither down nor drained nor silent; may well be busy
};

struct SlurmPartition {
    std::string name;
    bool is_default = false;
    std::string state;           // "UP"
    double max_time_s = 0;       // infinity: no limit
    std::int64_t max_nodes = 0;  // of one job; the largest number there is: no limit
    std::int64_t max_cpus_per_node = 0;
    std::string preempt_mode;
};

struct SlurmMachine {
    std::vector<SlurmNode> nodes;
    std::vector<SlurmPartition> partitions;
    std::int64_t max_array_size = 0;  // one more than the highest index
};

// From the outputs of `scontrol --oneliner show node`, the same of partition, and `scontrol show config`.
SlurmMachine parse_machine(std::string_view nodes, std::string_view partitions, std::string_view config);

// Asks Slurm. Throws MachineError if Slurm is not installed here or does not answer.
SlurmMachine read_machine();

// Output of one of Slurm's programs. Throws MachineError as above, with what it says itself.
std::string ask_slurm(const std::vector<std::string>& command);
// Throws MachineError if `program` is not installed: says what to do instead.
void require_slurm(const std::string& program);

// How fast the nodes' processors are, which Slurm does not know.
struct NodeSpeeds {
    std::vector<Host> described;  // from --cluster, by the name of the host; may be empty
    // Of a node that is not described: an AVX2 processor at 2 GHz, so that estimates are rather too long.
    Host of(const SlurmNode& node) const;
};

// What a job with so many ranks, cores and GPUs on each of these nodes finds there. cores_per_node <= cores
// of each.
struct NodeShare {
    int ranks = 1;
    int cores = 1;
    int gpus = 0;
};
Topology topology_of(std::span<const SlurmNode> nodes, const NodeShare& share, const NodeSpeeds& speeds);

}  // namespace voltpile
