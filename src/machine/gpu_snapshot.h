// What NVIDIA's driver says about the GPUs of a node at one moment, as plain data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile {

// One NVLink of a GPU.
struct NvLink {
    int number = 0;
    bool up = false;
    int version = 0;         // NVML's number: 1 to 5 for NVLink 1.0, 2.0, 2.2, 3.0, 3.1; 6 is 4.0, 7 is 5.0
    bool to_switch = false;  // ends in an NVSwitch, which reaches all GPUs that have any
    std::string remote_bus_id;  // of the GPU at the other end; empty: unknown, or not a GPU
    // Counted since the driver was loaded; nothing if the driver does not say.
    std::optional<double> replays;     // packets sent again
    std::optional<double> recoveries;  // retrainings
    std::optional<double> crc_errors;
};

// A GPU. Nothing: its driver does not say.
struct GpuSnapshot {
    std::string bus_id;  // "0000:1b:00.0", lower case; empty for a lost GPU whose place is unknown
    std::string name;
    std::string uuid;
    std::string problem;  // why readings are missing: "GPU is lost (NVML 15)"; empty: none

    std::optional<double> power_w;
    std::optional<double> energy_j;  // since the driver was loaded
    std::optional<double> temperature_c;
    std::optional<double> sm_clock_mhz;
    std::optional<double> memory_clock_mhz;
    std::optional<double> utilization_percent;         // share of time in which a kernel ran
    std::optional<double> memory_utilization_percent;  // share of time in which memory was read or written
    std::optional<double> memory_used_bytes;
    std::optional<double> throttle_reasons;  // bits of kThrottleReasons
    std::optional<double> pcie_replays;      // since the driver was loaded

    std::optional<double> memory_total_bytes;
    std::optional<double> power_limit_w;           // as set
    std::optional<double> power_limit_enforced_w;  // the lowest of all limits
    std::optional<double> power_limit_default_w;
    std::optional<double> power_limit_min_w;
    std::optional<double> power_limit_max_w;
    std::optional<double> sm_clock_max_mhz;
    std::optional<double> memory_clock_max_mhz;
    std::optional<double> application_clock_mhz;  // SM clock; nothing where application clocks do not exist
    std::optional<double> application_clock_default_mhz;
    std::optional<double> application_memory_clock_mhz;
    std::optional<double> temperature_slowdown_c;
    std::optional<double> temperature_shutdown_c;
    std::optional<double> ecc_on;           // 1 or 0
    std::optional<double> ecc_corrected;    // since the last restart
    std::optional<double> ecc_uncorrected;  // since the last restart
    std::optional<double> ecc_uncorrected_ever;
    std::optional<double> retired_pages;       // Volta
    std::optional<double> retirement_pending;  // 1: a page is retired at the next restart
    std::optional<double> remapped_rows;       // Ampere and newer
    std::optional<double> remapping_failed;    // 1 or 0
    std::optional<double> pcie_generation;
    std::optional<double> pcie_width;           // lanes
    std::optional<double> pcie_generation_max;  // that GPU and slot can do
    std::optional<double> pcie_width_max;
    std::vector<NvLink> links;  // those that the GPU has, up or not
};

// A number of a GpuSnapshot, with the name that JSON, telemetry and Prometheus use.
struct GpuNumber {
    std::string_view name;  // "power_w"
    std::optional<double> GpuSnapshot::*member;
    bool sampled;  // changes while a job runs: telemetry samples it
};
inline constexpr std::array kGpuNumbers{
    GpuNumber{"power_w", &GpuSnapshot::power_w, true},
    GpuNumber{"energy_j", &GpuSnapshot::energy_j, true},
    GpuNumber{"temperature_c", &GpuSnapshot::temperature_c, true},
    GpuNumber{"sm_clock_mhz", &GpuSnapshot::sm_clock_mhz, true},
    GpuNumber{"memory_clock_mhz", &GpuSnapshot::memory_clock_mhz, true},
    GpuNumber{"utilization_percent", &GpuSnapshot::utilization_percent, true},
    GpuNumber{"memory_utilization_percent", &GpuSnapshot::memory_utilization_percent, true},
    GpuNumber{"memory_used_bytes", &GpuSnapshot::memory_used_bytes, true},
    GpuNumber{"throttle_reasons", &GpuSnapshot::throttle_reasons, true},
    GpuNumber{"pcie_replays", &GpuSnapshot::pcie_replays, true},
    GpuNumber{"memory_total_bytes", &GpuSnapshot::memory_total_bytes, false},
    GpuNumber{"power_limit_w", &GpuSnapshot::power_limit_w, false},
    GpuNumber{"power_limit_enforced_w", &GpuSnapshot::power_limit_enforced_w, false},
    GpuNumber{"power_limit_default_w", &GpuSnapshot::power_limit_default_w, false},
    GpuNumber{"power_limit_min_w", &GpuSnapshot::power_limit_min_w, false},
    GpuNumber{"power_limit_max_w", &GpuSnapshot::power_limit_max_w, false},
    GpuNumber{"sm_clock_max_mhz", &GpuSnapshot::sm_clock_max_mhz, false},
    GpuNumber{"memory_clock_max_mhz", &GpuSnapshot::memory_clock_max_mhz, false},
    GpuNumber{"application_clock_mhz", &GpuSnapshot::application_clock_mhz, false},
    GpuNumber{"application_clock_default_mhz", &GpuSnapshot::application_clock_default_mhz, false},
    GpuNumber{"application_memory_clock_mhz", &GpuSnapshot::application_memory_clock_mhz, false},
    GpuNumber{"temperature_slowdown_c", &GpuSnapshot::temperature_slowdown_c, false},
    GpuNumber{"temperature_shutdown_c", &GpuSnapshot::temperature_shutdown_c, false},
    GpuNumber{"ecc_on", &GpuSnapshot::ecc_on, false},
    GpuNumber{"ecc_corrected", &GpuSnapshot::ecc_corrected, false},
    GpuNumber{"ecc_uncorrected", &GpuSnapshot::ecc_uncorrected, false},
    GpuNumber{"ecc_uncorrected_ever", &GpuSnapshot::ecc_uncorrected_ever, false},
    GpuNumber{"retired_pages", &GpuSnapshot::retired_pages, false},
    GpuNumber{"retirement_pending", &GpuSnapshot::retirement_pending, false},
    GpuNumber{"remapped_rows", &GpuSnapshot::remapped_rows, false},
    GpuNumber{"remapping_failed", &GpuSnapshot::remapping_failed, false},
    GpuNumber{"pcie_generation", &GpuSnapshot::pcie_generation, false},
    GpuNumber{"pcie_width", &GpuSnapshot::pcie_width, false},
    GpuNumber{"pcie_generation_max", &GpuSnapshot::pcie_generation_max, false},
    GpuNumber{"pcie_width_max", &GpuSnapshot::pcie_width_max, false},
};

// Why a GPU runs below its highest clock: the driver's bits.
struct ThrottleReason {
    std::uint64_t bit;
    const char* name;
};
inline constexpr std::array kThrottleReasons{
    ThrottleReason{0x1, "idle"},
    ThrottleReason{0x2, "application clocks"},
    ThrottleReason{0x4, "power limit"},
    ThrottleReason{0x8, "hardware slowdown"},
    ThrottleReason{0x10, "synchronized boost"},
    ThrottleReason{0x20, "heat (driver)"},
    ThrottleReason{0x40, "heat (hardware)"},
    ThrottleReason{0x80, "external power brake"},
    ThrottleReason{0x100, "display clocks"},
};

// The GPUs of a node as the driver knows them.
struct NodeGpus {
    std::string
        problem;  // why there are none: no driver, or one that does not answer; empty: the driver answers
    bool hung = false;  // the driver did not answer within the deadline
    std::string driver_version;
    int cuda_version = 0;  // the newest CUDA that the driver serves: 12080 for 12.8
    std::vector<GpuSnapshot> gpus;

    // Returns nullptr if the driver does not know the GPU. bus_id: "0000:1b:00.0".
    const GpuSnapshot* find(std::string_view bus_id) const;
};

// Converts NVML's and CUDA's spellings of a PCI bus id to one: "00000000:1B:00.0" becomes "0000:1b:00.0".
std::string plain_bus_id(std::string bus_id);

// Names of the throttle reasons in `bits`.
std::vector<std::string> throttle_names(std::uint64_t bits);

}  // namespace voltpile
