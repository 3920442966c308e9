// Chooses how many nodes a job gets, and how many ranks, cores and GPUs on each.
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
    int threads = 0;  // of a rank that computes on the CPU; 0: as many as possible
    std::optional<int> nodes, tasks_per_node, gpus_per_node;
    double target_s = 3600;  // without `nodes`: the fewest that finish within this time
};

struct Layout {
    std::vector<SlurmNode> nodes;  // the slowest that Slurm may choose, so that estimates hold for all others
    NodeShare share;
    int cpus_per_task = 1;  // in Slurm's count
    bool nodes_by_target = false;
};

// Returns the partition of this name, or the default one. Throws JobError, which names the nearest, if it
// does not exist, and MachineError if it takes no jobs.
const SlurmPartition& find_partition(const SlurmMachine& machine, const std::string& name);

// Chooses the layout. seconds: the time of the work on nodes with such shares, which falls with the number of
// nodes. Throws MachineError if the partition lacks what the request needs, JobError if the request
// contradicts itself.
Layout choose_layout(const SlurmMachine& machine, const SlurmPartition& partition, const LayoutNeeds& needs,
                     const std::function<double(const std::vector<SlurmNode>&, const NodeShare&)>& seconds);

}  // namespace voltpile
