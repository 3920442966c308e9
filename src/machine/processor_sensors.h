// Temperature and power of a host's processors, and power of the whole host, from the kernel's drivers
// (Documentation/hwmon/sysfs-interface.rst and Documentation/power/powercap/powercap.rst of Linux).
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <vector>

#include "machine/node_sample.h"

namespace voltpile {

class ProcessorSensors {
  public:
    // Looks for the sensors. sys: "/sys" or a copy of it.
    explicit ProcessorSensors(const std::filesystem::path& sys);

    // Sets cpu_temperature_c, cpu_power_w and host_power_w; those that this host does not have, or that this
    // user may not read, become nothing. cpu_power_w is an average since the previous call; the first call
    // has none. A power meter that takes more than 50 ms to answer five times in a row, as behind a slow
    // management controller, is not read again.
    void read(HostReading& reading);

  private:
    struct Meter {
        std::filesystem::path file;  // in microwatts
        int slow_reads = 0;          // the last ones in a row
    };
    // RAPL's energy counter of a processor package.
    struct Counter {
        std::filesystem::path file;
        double range_uj = 0;              // it starts again at 0 after this; 0: unknown
        std::optional<double> before_uj;  // at the previous reading
    };
    std::optional<double> package_power_w();
    std::optional<double> host_power_w();

    std::vector<std::filesystem::path> temperatures_;  // in thousandths of a degree
    std::vector<Counter> packages_;
    std::vector<Meter> meters_;
    std::optional<std::chrono::steady_clock::time_point> before_;
};

}  // namespace voltpile
