// NVIDIA's management library (NVML). It is part of the driver and is loaded on demand, so one program serves
// machines with and without GPUs. Types and functions are declared here as in NVML's documentation, because
// not every CUDA installation has its header.
//
// Only the probe (apps/probe) calls NVML: a call into a hung driver never returns, and no signal ends it.
#pragma once

#include <memory>
#include <string>

namespace voltpile {

using NvmlDevice = struct NvmlDeviceOpaque*;

struct NvmlPci {
    char legacy_bus_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};
struct NvmlMemory {
    unsigned long long total, free, used;
};
// Counts what the driver reserves for itself apart from `used`, as nvidia-smi does.
struct NvmlMemory2 {
    unsigned version;  // kNvmlMemory2Version, set by the caller
    unsigned long long total, reserved, free, used;
};
inline constexpr unsigned kNvmlMemory2Version = sizeof(NvmlMemory2) | 2u << 24;
struct NvmlUtilization {
    unsigned gpu, memory;  // percent of the last sampling period
};

// One of the numbers that have a field's number instead of a function.
struct NvmlFieldValue {
    unsigned field;
    unsigned scope;  // of a counter of NVLinks: the link's number; kNvmlAllLinks: their sum
    long long unix_time_us, latency_us;
    unsigned type;  // NvmlFieldType
    int status;
    union {
        double real;
        unsigned whole;
        unsigned long long wide;
    };
};

// What NVML's functions return.
enum NvmlStatus : int {
    kNvmlSuccess = 0,
    kNvmlInvalidArgument = 2,
    kNvmlNotSupported = 3,
    kNvmlNoPermission = 4,
    kNvmlNotFound = 6,
    kNvmlInsufficientSize = 7,
    kNvmlFunctionNotFound = 13,
    kNvmlGpuIsLost = 15,
};
enum NvmlClock : int { kNvmlGraphicsClock = 0, kNvmlSmClock = 1, kNvmlMemoryClock = 2 };
enum NvmlThreshold : int { kNvmlShutdownThreshold = 0, kNvmlSlowdownThreshold = 1 };
enum NvmlErrors : int { kNvmlCorrected = 0, kNvmlUncorrected = 1 };
enum NvmlLinkEnd : int { kNvmlLinkToGpu = 0, kNvmlLinkToSwitch = 2 };
enum NvmlPcieDirection : int { kNvmlPcieSent = 0, kNvmlPcieReceived = 1 };
enum NvmlFieldType : unsigned { kNvmlReal = 0, kNvmlWhole = 1, kNvmlLong = 2, kNvmlWide = 3 };
inline constexpr unsigned kNvmlAllLinks = ~0U;
enum NvmlField : unsigned {
    kNvmlMemoryTemperature = 82,  // degrees Celsius
    kNvmlLinksSent = 138,         // kibibytes of data on NVLinks since the driver was loaded
    kNvmlLinksReceived = 139,
    kNvmlPowerInstant = 186,  // milliwatts, now; the function's are an average over a second since Ampere
    kNvmlPcieBytesSent = 197,
    kNvmlPcieBytesReceived = 198,
};

template <class... Arguments>
using NvmlCall = int (*)(NvmlDevice, Arguments...);

// The functions that Voltpile uses. nullptr: this driver does not have it.
struct NvmlFunctions {
    int (*init)() = nullptr;
    int (*shutdown)() = nullptr;
    const char* (*error_string)(int) = nullptr;
    int (*driver_version)(char*, unsigned) = nullptr;
    int (*cuda_version)(int*) = nullptr;  // the newest CUDA that the driver serves: 12080
    int (*device_count)(unsigned*) = nullptr;
    int (*device_by_index)(unsigned, NvmlDevice*) = nullptr;
    int (*device_by_bus_id)(const char*, NvmlDevice*) = nullptr;

    NvmlCall<char*, unsigned> name = nullptr;
    NvmlCall<char*, unsigned> uuid = nullptr;
    NvmlCall<NvmlPci*> pci = nullptr;
    NvmlCall<NvmlMemory*> memory = nullptr;  // the driver's own counts as used
    NvmlCall<NvmlMemory2*> memory2 = nullptr;
    NvmlCall<unsigned*> power = nullptr;                   // milliwatts
    NvmlCall<unsigned*> power_limit = nullptr;             // milliwatts, as set
    NvmlCall<unsigned*> enforced_power_limit = nullptr;    // milliwatts, the lowest of all limits
    NvmlCall<unsigned*> default_power_limit = nullptr;     // milliwatts
    NvmlCall<unsigned*, unsigned*> power_range = nullptr;  // milliwatts: least, most
    NvmlCall<unsigned long long*> energy = nullptr;        // millijoules since the driver was loaded
    NvmlCall<int, unsigned*> clock = nullptr;              // NvmlClock; megahertz
    NvmlCall<int, unsigned*> max_clock = nullptr;
    NvmlCall<int, unsigned*> application_clock = nullptr;
    NvmlCall<int, unsigned*> default_application_clock = nullptr;
    NvmlCall<int, unsigned*> temperature = nullptr;            // sensor 0, the GPU; degrees Celsius
    NvmlCall<int, unsigned*> temperature_threshold = nullptr;  // NvmlThreshold
    NvmlCall<unsigned long long*> throttle_reasons = nullptr;
    NvmlCall<NvmlUtilization*> utilization = nullptr;
    NvmlCall<int*, int*> ecc_mode = nullptr;                       // now, after the next restart
    NvmlCall<int, int, unsigned long long*> ecc_errors = nullptr;  // NvmlErrors; 0 since restart, 1 ever
    NvmlCall<int, unsigned*, unsigned long long*> retired_pages =
        nullptr;  // cause 0 single-bit, 1 double-bit
    NvmlCall<int*> retirement_pending = nullptr;
    NvmlCall<unsigned*, unsigned*, unsigned*, unsigned*> remapped_rows = nullptr;
    NvmlCall<unsigned*> pcie_generation = nullptr;
    NvmlCall<unsigned*> pcie_width = nullptr;
    NvmlCall<unsigned*> max_pcie_generation = nullptr;
    NvmlCall<unsigned*> max_pcie_width = nullptr;
    NvmlCall<unsigned*> pcie_replays = nullptr;
    NvmlCall<int, unsigned*> pcie_throughput = nullptr;     // NvmlPcieDirection; kB/s, measured for 20 ms
    NvmlCall<int, NvmlFieldValue*> field_values = nullptr;  // how many
    NvmlCall<unsigned, int*> link_state = nullptr;          // NVLink's number; 1: up
    NvmlCall<unsigned, unsigned*> link_version = nullptr;
    NvmlCall<unsigned, int*> link_remote_type = nullptr;  // NvmlLinkEnd
    NvmlCall<unsigned, NvmlPci*> link_remote_pci = nullptr;
    NvmlCall<unsigned, int, unsigned long long*> link_errors = nullptr;  // 0 replays, 1 recoveries, 2, 3 CRC

    NvmlCall<unsigned> set_power_limit = nullptr;                   // milliwatts
    NvmlCall<unsigned, unsigned> set_application_clocks = nullptr;  // megahertz: memory, graphics
    NvmlCall<unsigned, unsigned> lock_clocks = nullptr;             // megahertz: least, most
    NvmlCall<> unlock_clocks = nullptr;
};

// Loads and starts NVML; stops and unloads it again. Threads: NVML's functions may be called from any.
class Nvml {
  public:
    // Throws MachineError if there is no NVML, or if it does not start ("Driver Not Loaded").
    Nvml();
    ~Nvml();
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;

    const NvmlFunctions& functions() const { return functions_; }

    // Returns NVML's own words for a status.
    std::string text(int status) const;

  private:
    std::unique_ptr<void, void (*)(void*)> library_;
    NvmlFunctions functions_;
};

}  // namespace voltpile
