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

    std::optional<double> power_w;          // since Ampere an average over a second
    std::optional<double> power_instant_w;  // newer drivers
    std::optional<double> energy_j;         // since the driver was loaded
    std::optional<double> temperature_c;
    std::optional<double> memory_temperature_c;  // HBM
    std::optional<double> sm_clock_mhz;
    std::optional<double> memory_clock_mhz;
    std::optional<double> utilization_percent;         // share of time in which a kernel ran
    std::optional<double> memory_utilization_percent;  // share of time in which memory was read or written
    std::optional<double> memory_used_bytes;
    std::optional<double> throttle_reasons;  // bits of kThrottleReasons
    std::optional<double> pcie_replays;      // since the driver was loaded
    // Data on PCIe and on all NVLinks since the driver was loaded, and averages since the previous reading.
    std::optional<double> pcie_sent_bytes;
    std::optional<double> pcie_received_bytes;
    std::optional<double> pcie_sent_bytes_per_s;  // of older drivers: measured for 20 ms
    std::optional<double> pcie_received_bytes_per_s;
    std::optional<double> nvlink_sent_bytes;
    std::optional<double> nvlink_received_bytes;
    std::optional<double> nvlink_sent_bytes_per_s;
    std::optional<double> nvlink_received_bytes_per_s;
    // PCIe errors that the kernel counts (AER), of the GPU and the ports above it, since the node started.
    std::optional<double> aer_correctable;
    std::optional<double> aer_uncorrectable;

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

// How a number changes while a job runs.
enum class GpuPace {
    Fast,    // read with every sample
    Slow,    // read once a second, and held until then
    Costly,  // read as seldom as the time that it takes demands, and held until then
    Setting  // not read by samples
};

// A number of a GpuSnapshot, with the name that JSON, telemetry and Prometheus use.
struct GpuNumber {
    std::string_view name;  // "power_w"
    const char* unit;       // UDUNITS; "1" for bits, counters and flags
    std::optional<double> GpuSnapshot::*member;
    GpuPace pace;
};
inline constexpr std::array kGpuNumbers{
    GpuNumber{"power_w", "W", &GpuSnapshot::power_w, GpuPace::Fast},
    GpuNumber{"power_instant_w", "W", &GpuSnapshot::power_instant_w, GpuPace::Fast},
    GpuNumber{"energy_j", "J", &GpuSnapshot::energy_j, GpuPace::Costly},
    GpuNumber{"temperature_c", "degree_Celsius", &GpuSnapshot::temperature_c, GpuPace::Slow},
    GpuNumber{"memory_temperature_c", "degree_Celsius", &GpuSnapshot::memory_temperature_c, GpuPace::Slow},
    GpuNumber{"sm_clock_mhz", "MHz", &GpuSnapshot::sm_clock_mhz, GpuPace::Fast},
    GpuNumber{"memory_clock_mhz", "MHz", &GpuSnapshot::memory_clock_mhz, GpuPace::Slow},
    GpuNumber{"utilization_percent", "percent", &GpuSnapshot::utilization_percent, GpuPace::Fast},
    GpuNumber{"memory_utilization_percent", "percent", &GpuSnapshot::memory_utilization_percent,
              GpuPace::Fast},
    GpuNumber{"memory_used_bytes", "byte", &GpuSnapshot::memory_used_bytes, GpuPace::Slow},
    GpuNumber{"throttle_reasons", "1", &GpuSnapshot::throttle_reasons, GpuPace::Fast},
    GpuNumber{"pcie_replays", "1", &GpuSnapshot::pcie_replays, GpuPace::Costly},
    GpuNumber{"pcie_sent_bytes", "byte", &GpuSnapshot::pcie_sent_bytes, GpuPace::Costly},
    GpuNumber{"pcie_received_bytes", "byte", &GpuSnapshot::pcie_received_bytes, GpuPace::Costly},
    GpuNumber{"pcie_sent_bytes_per_s", "byte s-1", &GpuSnapshot::pcie_sent_bytes_per_s, GpuPace::Costly},
    GpuNumber{"pcie_received_bytes_per_s", "byte s-1", &GpuSnapshot::pcie_received_bytes_per_s,
              GpuPace::Costly},
    GpuNumber{"nvlink_sent_bytes", "byte", &GpuSnapshot::nvlink_sent_bytes, GpuPace::Costly},
    GpuNumber{"nvlink_received_bytes", "byte", &GpuSnapshot::nvlink_received_bytes, GpuPace::Costly},
    GpuNumber{"nvlink_sent_bytes_per_s", "byte s-1", &GpuSnapshot::nvlink_sent_bytes_per_s, GpuPace::Costly},
    GpuNumber{"nvlink_received_bytes_per_s", "byte s-1", &GpuSnapshot::nvlink_received_bytes_per_s,
              GpuPace::Costly},
    GpuNumber{"aer_correctable", "1", &GpuSnapshot::aer_correctable, GpuPace::Costly},
    GpuNumber{"aer_uncorrectable", "1", &GpuSnapshot::aer_uncorrectable, GpuPace::Costly},
    GpuNumber{"memory_total_bytes", "byte", &GpuSnapshot::memory_total_bytes, GpuPace::Setting},
    GpuNumber{"power_limit_w", "W", &GpuSnapshot::power_limit_w, GpuPace::Setting},
    GpuNumber{"power_limit_enforced_w", "W", &GpuSnapshot::power_limit_enforced_w, GpuPace::Setting},
    GpuNumber{"power_limit_default_w", "W", &GpuSnapshot::power_limit_default_w, GpuPace::Setting},
    GpuNumber{"power_limit_min_w", "W", &GpuSnapshot::power_limit_min_w, GpuPace::Setting},
    GpuNumber{"power_limit_max_w", "W", &GpuSnapshot::power_limit_max_w, GpuPace::Setting},
    GpuNumber{"sm_clock_max_mhz", "MHz", &GpuSnapshot::sm_clock_max_mhz, GpuPace::Setting},
    GpuNumber{"memory_clock_max_mhz", "MHz", &GpuSnapshot::memory_clock_max_mhz, GpuPace::Setting},
    GpuNumber{"application_clock_mhz", "MHz", &GpuSnapshot::application_clock_mhz, GpuPace::Setting},
    GpuNumber{"application_clock_default_mhz", "MHz", &GpuSnapshot::application_clock_default_mhz,
              GpuPace::Setting},
    GpuNumber{"application_memory_clock_mhz", "MHz", &GpuSnapshot::application_memory_clock_mhz,
              GpuPace::Setting},
    GpuNumber{"temperature_slowdown_c", "degree_Celsius", &GpuSnapshot::temperature_slowdown_c,
              GpuPace::Setting},
    GpuNumber{"temperature_shutdown_c", "degree_Celsius", &GpuSnapshot::temperature_shutdown_c,
              GpuPace::Setting},
    GpuNumber{"ecc_on", "1", &GpuSnapshot::ecc_on, GpuPace::Setting},
    GpuNumber{"ecc_corrected", "1", &GpuSnapshot::ecc_corrected, GpuPace::Setting},
    GpuNumber{"ecc_uncorrected", "1", &GpuSnapshot::ecc_uncorrected, GpuPace::Setting},
    GpuNumber{"ecc_uncorrected_ever", "1", &GpuSnapshot::ecc_uncorrected_ever, GpuPace::Setting},
    GpuNumber{"retired_pages", "1", &GpuSnapshot::retired_pages, GpuPace::Setting},
    GpuNumber{"retirement_pending", "1", &GpuSnapshot::retirement_pending, GpuPace::Setting},
    GpuNumber{"remapped_rows", "1", &GpuSnapshot::remapped_rows, GpuPace::Setting},
    GpuNumber{"remapping_failed", "1", &GpuSnapshot::remapping_failed, GpuPace::Setting},
    GpuNumber{"pcie_generation", "1", &GpuSnapshot::pcie_generation, GpuPace::Setting},
    GpuNumber{"pcie_width", "1", &GpuSnapshot::pcie_width, GpuPace::Setting},
    GpuNumber{"pcie_generation_max", "1", &GpuSnapshot::pcie_generation_max, GpuPace::Setting},
    GpuNumber{"pcie_width_max", "1", &GpuSnapshot::pcie_width_max, GpuPace::Setting},
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
    std::string problem;  // no driver, or one that does not answer; empty if the driver answers
    bool hung = false;    // the driver did not answer within the deadline
    std::string driver_version;
    int cuda_version = 0;  // the newest CUDA that the driver serves: 12080 for 12.8
    std::vector<GpuSnapshot> gpus;

    // Returns nullptr if the driver does not know the GPU. bus_id: "0000:1b:00.0".
    const GpuSnapshot* find(std::string_view bus_id) const;

    // Returns what all GPUs draw now, in watts; nothing if one of them does not say.
    std::optional<double> power_w() const;
};

// Converts NVML's and CUDA's spellings of a PCI bus id to one: "00000000:1B:00.0" becomes "0000:1b:00.0".
std::string plain_bus_id(std::string bus_id);

// Whether a name has the shape of a PCI bus id in the kernel's spelling: "0000:1b:00.0".
bool is_bus_id(std::string_view name);

// Names of the throttle reasons in `bits`.
std::vector<std::string> throttle_names(std::uint64_t bits);

}  // namespace voltpile
