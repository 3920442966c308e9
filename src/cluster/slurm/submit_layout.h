// How many nodes, and how many ranks, cores and GPUs on each.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cluster/slurm/machine.h"
#include "plan/plan.h"

namespace voltpile {

struct LayoutNeeds {
    DeviceChoice device = DeviceChoice::Auto;
    int threads = 0;  // of a rank that computes on the CPU; 0: all it can have
    std::optional<int> nodes, tasks_per_node, gpus_per_node;
    double target_s = 3600;  // without `nodes`: as few as finish within this time
};

struct Layout {
    std::vector<SlurmNode> nodes;  // the slowest that Slurm may choose: estimates hold for all others
    NodeShare share;
    int cpus_per_task = 1;  // as Slurm counts them
    bool nodes_by_target = false;
};

// The partition of this name, or the default one. Throws JobError, naming the nearest, if there is no such,
// and MachineError if it takes no jobs.
const SlurmPartition& find_partition(const SlurmMachine& machine, const std::string& name);

// seconds: of the work on nodes with such shares; falls with the number of nodes. Throws MachineError where
// the partition has not got what is asked for, and JobError where the wishes contradict each other.
Layout choose_layout(const SlurmMachine& machine, const SlurmPartition& partition, const LayoutNeeds& needs,
                     const std::function<double(const std::vector<SlurmNode>&, const NodeShare&)>& seconds);

}  // namespace voltpile
