// What the plan needs to know of a GPU, by the type that Slurm has it under ("v100", "tesla_v100-sxm2-16gb",
// "nvidia_geforce_rtx_3090"): a site chooses that name, or NVML does.
#pragma once

#include <string>

#include "plan/topology.h"

namespace voltpile {

struct SlurmGpu {
    Gpu gpu;
    bool known = false;  // else `gpu` is a modest one, for an estimate that is rather too long than too short
};

SlurmGpu gpu_of_type(const std::string& type);

}  // namespace voltpile
