// Reads GPUs through NVML, in this process: only the probe does (apps/probe).
#pragma once

#include "machine/gpu_snapshot.h"

namespace voltpile {

class Nvml;

enum class GpuReading {
    Everything,
    Sampled,  // identity, and the numbers that change while a job runs
};

// Reads all GPUs. A GPU that the driver has lost stays in the list, with its problem.
NodeGpus read_gpus(const Nvml& nvml, GpuReading what);

}  // namespace voltpile
