// Reads processor, memory, network, temperature and power of this node from /proc and /sys.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

#include "base/kernel_files.h"
#include "machine/node_sample.h"
#include "machine/processor_sensors.h"

namespace voltpile {

class HostMeter {
  public:
    // The file systems may be copies, for tests. sys: by default what sys_folder() says.
    explicit HostMeter(std::filesystem::path proc = "/proc", std::filesystem::path sys = sys_folder());

    // Rates are averages since the previous call; the first call has none. While the kernel has counted no
    // time of any core since then (it counts ticks), the processor's load is that of the previous call, or if
    // that has none the average since the node started.
    HostReading read();

  private:
    struct Counters {
        std::chrono::steady_clock::time_point at;
        double cpu_busy = 0, cpu_idle = 0;  // ticks
        double received = 0, sent = 0;      // bytes
    };
    Counters read_counters() const;

    std::filesystem::path proc_, sys_;
    ProcessorSensors sensors_;
    std::optional<Counters> before_;
    std::optional<double> cpu_percent_;  // the last one that was known
};

}  // namespace voltpile
