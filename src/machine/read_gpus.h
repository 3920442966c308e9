// Reads GPUs through NVML, in this process: only the probe does (apps/probe).
#pragma once

#include <string>

#include "machine/gpu_snapshot.h"

namespace voltpile {

class Nvml;

using NvmlDevice = struct NvmlDeviceOpaque*;

enum class GpuReading {
    Everything,
    Slow,  // identity, and the numbers of GpuPace::Fast and Slow
};

// Reads all GPUs. A GPU that the driver has lost stays in the list, with its problem.
NodeGpus read_gpus(const Nvml& nvml, GpuReading what);

// Returns the driver's handle of the GPU at this bus id, which stays valid; nullptr: the driver does not list
// it.
NvmlDevice find_gpu(const Nvml& nvml, const std::string& bus_id);

// Reads the numbers of GpuPace::Fast again, and the problem. The rest stays as it is.
void read_fast(const Nvml& nvml, NvmlDevice device, GpuSnapshot& gpu);

// Reads the numbers of GpuPace::Costly, but rates from counters and what the kernel
// counts. Takes some milliseconds, and 40 ms more if the driver has no counters of PCIe.
void read_costly(const Nvml& nvml, NvmlDevice device, GpuSnapshot& gpu);

}  // namespace voltpile
