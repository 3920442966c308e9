// Reads GPUs through NVML, in this process: only the probe does (apps/probe).
#pragma once

#include "machine/gpu_snapshot.h"

namespace voltpile {

class Nvml;

enum class GpuReading {
    Everything,
    Changing,  // identity, and the numbers that change while a job runs
    Fast,      // identity, and the numbers of GpuPace::Fast
};

// Reads all GPUs. A GPU that the driver has lost stays in the list, with its problem.
NodeGpus read_gpus(const Nvml& nvml, GpuReading what);

// Measures the throughput of a GPU's PCIe link, for drivers without counters. Takes 40 ms.
void measure_pcie(const Nvml& nvml, GpuSnapshot& gpu);

}  // namespace voltpile
