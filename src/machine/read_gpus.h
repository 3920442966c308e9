// Reads GPUs through NVML, in this process: only the probe does (apps/probe).
#pragma once

#include "machine/gpu_snapshot.h"

namespace voltpile {

class Nvml;

enum class GpuReading {
    Everything,
    Slow,  // identity, and the numbers of GpuPace::Fast and Slow
    Fast,  // identity, and the numbers of GpuPace::Fast
};

// Reads all GPUs. A GPU that the driver has lost stays in the list, with its problem.
NodeGpus read_gpus(const Nvml& nvml, GpuReading what);

// Reads the numbers of GpuPace::Costly of one GPU, by its bus_id, but rates from counters and what the kernel
// counts. Takes some milliseconds, and 40 ms more if the driver has no counters of PCIe.
void read_costly(const Nvml& nvml, GpuSnapshot& gpu);

}  // namespace voltpile
