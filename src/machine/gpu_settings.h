// Power limits and clocks of GPUs: what a job wants, what NVML made of it. The probe sets them, like all that
// calls NVML.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "machine/gpu_snapshot.h"

namespace voltpile {

class Nvml;

// Values to set on one GPU. Nothing: leave as it is.
struct GpuSettings {
    std::string bus_id;
    std::optional<double> power_limit_w;
    // Both application clocks, for GPUs that have them; nvidia-smi -ac.
    std::optional<double> application_memory_clock_mhz;
    std::optional<double> application_clock_mhz;
    // The highest SM clock, for GPUs without application clocks; nvidia-smi -lgc. 0: any clock.
    std::optional<double> locked_clock_mhz;
    bool operator==(const GpuSettings&) const = default;

    bool empty() const { return !power_limit_w && !application_clock_mhz && !locked_clock_mhz; }
};

// What became of the settings of one GPU.
struct SettingsOutcome {
    GpuSettings done;
    GpuSettings not_permitted;          // NVML refused them for lack of permission
    std::vector<std::string> problems;  // with the others: "power limit 200 W: Unknown Error (NVML 999)"
};

// As JSON, for the probe and for the record of what to restore. Reading throws MachineError.
std::string to_json(const std::vector<GpuSettings>& settings);
std::vector<GpuSettings> settings_from_json(const std::string& text);
std::string to_json(const std::vector<SettingsOutcome>& outcomes);
std::vector<SettingsOutcome> outcomes_from_json(const std::string& text);

// Sets everything and reads it back. Only the probe calls it.
std::vector<SettingsOutcome> set_gpus(const Nvml& nvml, const std::vector<GpuSettings>& settings);

// The same through voltpile-probe. Throws MachineError if the driver does not answer within the deadline.
std::vector<SettingsOutcome> change_gpus(const std::vector<GpuSettings>& settings,
                                         std::chrono::milliseconds deadline);

// Returns the settings that bring a GPU back to what it is set to now, for all that `change` changes.
GpuSettings current_settings(const GpuSnapshot& gpu, const GpuSettings& change);

// Describes the values: "power limit 200 W, application clock 1005 MHz".
std::string to_text(const GpuSettings& settings);

// Returns the nvidia-smi command by which an administrator sets the same: "nvidia-smi -pl 200 -ac 877,1005".
std::string nvidia_smi_command(const GpuSettings& settings);

}  // namespace voltpile
