// What the plan lets a program use: hardware threads, GPUs and a network adapter.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace voltpile::command {

struct Resources {
    std::vector<int> pus;           // hardware threads, one for each core
    std::vector<std::string> gpus;  // entries of CUDA_VISIBLE_DEVICES
    bool sets_gpus = false;         // the host has GPUs, so CUDA_VISIBLE_DEVICES says which are meant, if any
    std::string nic;                // near the GPU or cores; may be empty
};

// Returns what belongs to a rank alone. Call it on this rank: the GPUs are named as its process sees them.
Resources resources_of_rank(const Plan& plan, int rank);

// Returns what belongs to the node of a rank: all cores that the launcher allows and all GPUs that the rank
// sees, or, if the host counts as several nodes or the plan limits the threads of ranks, what the plan gives
// to the ranks of the node. Call it on this rank.
Resources resources_of_node(const Plan& plan, int rank, bool limited_threads);

}  // namespace voltpile::command
