// Samples the GPUs of this node through NVML, in this process: only the probe does (apps/probe).
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "machine/read_gpus.h"

namespace voltpile {

class GpuSampler {
  public:
    // sys: "/sys" or a copy of it.
    explicit GpuSampler(const Nvml& nvml, std::filesystem::path sys = "/sys");

    // Reads the numbers of GpuPace::Fast, and once a second names and the numbers of GpuPace::Slow. Those of
    // GpuPace::Costly it reads of one GPU after the other, of each at most once a second, and so seldom that
    // this takes less than 0.15 % of a core. In between numbers keep their values; the energy counter is
    // unknown. The reference is valid until the next call.
    const NodeGpus& sample();

  private:
    using Clock = std::chrono::steady_clock;
    void read_all();
    void read_next_costly(Clock::time_point now);

    const Nvml& nvml_;
    std::filesystem::path sys_;
    NodeGpus node_;
    std::vector<NvmlDevice> devices_;  // of node_.gpus; nullptr: lost
    std::optional<Clock::time_point> slow_at_;
    std::map<std::string, Clock::time_point> costly_at_;  // by bus id
    Clock::time_point next_costly_;
    std::size_t turn_ = 0;
};

}  // namespace voltpile
