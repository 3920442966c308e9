// Properties of GPUs by their type in Slurm, a name that the site or NVML chose: "v100",
// "tesla_v100-sxm2-16gb", "nvidia_geforce_rtx_3090".
#pragma once

#include <string>

#include "plan/topology.h"

namespace voltpile {

struct SlurmGpu {
    Gpu gpu;
    bool known = false;  // false: `gpu` is a modest one, so that estimates are rather too long than too short
};

// Never fails: unknown types get a modest GPU.
SlurmGpu gpu_of_type(const std::string& type);

}  // namespace voltpile
