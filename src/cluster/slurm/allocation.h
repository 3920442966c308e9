// The Slurm allocation that this process runs in (salloc, sbatch).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/hosts/host_file.h"

namespace voltpile {

struct Allocation {
    std::string job_id;
    std::vector<HostEntry>
        nodes;  // slots: tasks on each node, equal for all; 0: the user asked for no number
};

// Returns nothing outside an allocation. Throws MachineError if Slurm does not name the nodes.
std::optional<Allocation> this_allocation();

// Returns the least number in SLURM_TASKS_PER_NODE ("4(x2),3": 3); 0 if it is not such a list.
int least_tasks_per_node(std::string_view list);

// Whether srun starts MPI programs that use PMIx.
bool srun_supports_pmix();

}  // namespace voltpile
