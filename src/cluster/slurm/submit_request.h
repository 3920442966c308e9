// The arguments of `voltpile submit`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "run/runner.h"

namespace voltpile {

struct SubmitRequest {
    RunOptions run;  // job file, --set, --output
    // Values that the user does not give follow from the job and the cluster.
    std::optional<int> nodes;
    std::optional<int> tasks_per_node;
    std::optional<int> gpus_per_node;
    std::optional<int> array;  // elements, each a share of the sweep
    std::string time;          // as sbatch accepts it
    std::string partition, account, qos, dependency;
    std::string launcher;                        // "srun", "mpirun", or "" for the one that works there
    std::filesystem::path cluster, environment;  // --cluster, --env
    std::vector<std::string> sbatch_options;     // passed on unchanged
    bool dry_run = false;
};

}  // namespace voltpile
