// Who does what, decided before anything runs: ranks -> GPUs and cores, with estimates. Pure: same input, same plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/topology.h"
#include "plan/workload.h"

namespace voltpile {

struct RankPlan {
    int host = 0;
    int local_rank = 0;
    int gpu = -1;                // index into Host::gpus; -1: computes on its cores
    std::vector<int> cores;      // indices into Host::cores; never shared with another rank unless there are too few
    double units_per_s = 0;      // estimated speed
};

struct Plan {
    Topology topology;
    Workload workload;
    std::vector<RankPlan> ranks;
    double seconds = 0;            // estimate, all ranks together, an upper bound where points may end early
    std::int64_t result_bytes = 0;
    std::vector<std::string> warnings;  // idle GPUs, more ranks than cores, ...
};

enum class DeviceChoice { Auto, Cpu, Gpu };  // job key run.device

// Throws MachineError if DeviceChoice::Gpu is asked for and a host has fewer GPUs than ranks.
Plan make_plan(const Workload& workload, DeviceChoice device, const Topology& topology);

// The table that `voltpile plan` prints.
std::string to_text(const Plan& plan);

}  // namespace voltpile
