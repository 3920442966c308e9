// What a node does at one moment: its processor, memory, network and GPUs.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "machine/gpu_snapshot.h"

namespace voltpile {

// Nothing: unknown, or a rate that needs an earlier sample.
struct HostReading {
    std::optional<double> cpu_percent;  // of all cores
    std::optional<double> memory_used_bytes;
    std::optional<double> memory_total_bytes;
    std::optional<double> network_received_bytes_per_s;  // of all interfaces of hardware
    std::optional<double> network_sent_bytes_per_s;
    std::optional<double> cpu_temperature_c;  // of the hottest processor
    std::optional<double> cpu_power_w;        // of all processor packages
    std::optional<double> host_power_w;       // of the whole host
};

struct HostNumber {
    std::string_view name;  // differs from those of kGpuNumbers
    const char* unit;       // UDUNITS
    std::optional<double> HostReading::*member;
};
inline constexpr std::array kHostNumbers{
    HostNumber{"cpu_percent", "percent", &HostReading::cpu_percent},
    HostNumber{"host_memory_used_bytes", "byte", &HostReading::memory_used_bytes},
    HostNumber{"host_memory_total_bytes", "byte", &HostReading::memory_total_bytes},
    HostNumber{"network_received_bytes_per_s", "byte s-1", &HostReading::network_received_bytes_per_s},
    HostNumber{"network_sent_bytes_per_s", "byte s-1", &HostReading::network_sent_bytes_per_s},
    HostNumber{"cpu_temperature_c", "degree_Celsius", &HostReading::cpu_temperature_c},
    HostNumber{"cpu_power_w", "W", &HostReading::cpu_power_w},
    HostNumber{"host_power_w", "W", &HostReading::host_power_w},
};

struct NodeSample {
    double time_s = 0;  // since 1970-01-01 00:00 UTC
    HostReading host;
    NodeGpus gpus;
};

}  // namespace voltpile
