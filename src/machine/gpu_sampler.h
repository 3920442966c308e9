// Samples the GPUs of this node through NVML, in this process: only the probe does (apps/probe).
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <vector>

#include "machine/gpu_snapshot.h"

namespace voltpile {

class Nvml;

class GpuSampler {
  public:
    // every: how often sample() is called. sys: "/sys" or a copy of it.
    GpuSampler(const Nvml& nvml, std::chrono::milliseconds every, std::filesystem::path sys = "/sys");

    // Reads the numbers of GpuPace::Fast. Once a second it also reads those of GpuPace::Slow; in between they
    // keep their values. Throughput needs an earlier reading.
    NodeGpus sample();

  private:
    using Clock = std::chrono::steady_clock;
    void add_slow(NodeGpus& node, double seconds);
    void measure_pcie_of_some(NodeGpus& node);

    const Nvml& nvml_;
    std::filesystem::path sys_;
    double every_s_;
    NodeGpus before_;
    std::optional<Clock::time_point> slow_at_;
    std::size_t next_ = 0;  // whose PCIe link is measured next
};

}  // namespace voltpile
