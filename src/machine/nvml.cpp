#include "machine/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <initializer_list>

#include "base/error.h"

namespace voltpile {
namespace {

// The driver's, unless VOLTPILE_NVML names another one, as tests do to play back a described node.
const char* library_name() {
    const char* named = std::getenv("VOLTPILE_NVML");
    return named && *named ? named : "libnvidia-ml.so.1";
}

// Sets `function` to the first of the names that the library has: newer drivers rename functions.
template <class Function>
void find(void* library, Function& function, std::initializer_list<const char*> names) {
    for (const char* name : names)
        if (!function) function = reinterpret_cast<Function>(dlsym(library, name));
}

NvmlFunctions all_functions(void* library) {
    NvmlFunctions f;
    find(library, f.init, {"nvmlInit_v2"});
    find(library, f.shutdown, {"nvmlShutdown"});
    find(library, f.error_string, {"nvmlErrorString"});
    find(library, f.driver_version, {"nvmlSystemGetDriverVersion"});
    find(library, f.cuda_version, {"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"});
    find(library, f.device_count, {"nvmlDeviceGetCount_v2"});
    find(library, f.device_by_index, {"nvmlDeviceGetHandleByIndex_v2"});
    find(library, f.device_by_bus_id, {"nvmlDeviceGetHandleByPciBusId_v2"});
    find(library, f.name, {"nvmlDeviceGetName"});
    find(library, f.uuid, {"nvmlDeviceGetUUID"});
    find(library, f.pci, {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2"});
    find(library, f.memory, {"nvmlDeviceGetMemoryInfo"});
    find(library, f.memory2, {"nvmlDeviceGetMemoryInfo_v2"});
    find(library, f.power, {"nvmlDeviceGetPowerUsage"});
    find(library, f.power_limit, {"nvmlDeviceGetPowerManagementLimit"});
    find(library, f.enforced_power_limit, {"nvmlDeviceGetEnforcedPowerLimit"});
    find(library, f.default_power_limit, {"nvmlDeviceGetPowerManagementDefaultLimit"});
    find(library, f.power_range, {"nvmlDeviceGetPowerManagementLimitConstraints"});
    find(library, f.energy, {"nvmlDeviceGetTotalEnergyConsumption"});
    find(library, f.clock, {"nvmlDeviceGetClockInfo"});
    find(library, f.max_clock, {"nvmlDeviceGetMaxClockInfo"});
    find(library, f.application_clock, {"nvmlDeviceGetApplicationsClock"});
    find(library, f.default_application_clock, {"nvmlDeviceGetDefaultApplicationsClock"});
    find(library, f.temperature, {"nvmlDeviceGetTemperature"});
    find(library, f.temperature_threshold, {"nvmlDeviceGetTemperatureThreshold"});
    find(library, f.throttle_reasons,
         {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
    find(library, f.utilization, {"nvmlDeviceGetUtilizationRates"});
    find(library, f.ecc_mode, {"nvmlDeviceGetEccMode"});
    find(library, f.ecc_errors, {"nvmlDeviceGetTotalEccErrors"});
    find(library, f.retired_pages, {"nvmlDeviceGetRetiredPages"});
    find(library, f.retirement_pending, {"nvmlDeviceGetRetiredPagesPendingStatus"});
    find(library, f.remapped_rows, {"nvmlDeviceGetRemappedRows"});
    find(library, f.pcie_generation, {"nvmlDeviceGetCurrPcieLinkGeneration"});
    find(library, f.pcie_width, {"nvmlDeviceGetCurrPcieLinkWidth"});
    find(library, f.max_pcie_generation, {"nvmlDeviceGetMaxPcieLinkGeneration"});
    find(library, f.max_pcie_width, {"nvmlDeviceGetMaxPcieLinkWidth"});
    find(library, f.pcie_replays, {"nvmlDeviceGetPcieReplayCounter"});
    find(library, f.pcie_throughput, {"nvmlDeviceGetPcieThroughput"});
    find(library, f.field_values, {"nvmlDeviceGetFieldValues"});
    find(library, f.link_state, {"nvmlDeviceGetNvLinkState"});
    find(library, f.link_version, {"nvmlDeviceGetNvLinkVersion"});
    find(library, f.link_remote_type, {"nvmlDeviceGetNvLinkRemoteDeviceType"});
    find(library, f.link_remote_pci, {"nvmlDeviceGetNvLinkRemotePciInfo_v2"});
    find(library, f.link_errors, {"nvmlDeviceGetNvLinkErrorCounter"});
    find(library, f.set_power_limit, {"nvmlDeviceSetPowerManagementLimit"});
    find(library, f.set_application_clocks, {"nvmlDeviceSetApplicationsClocks"});
    find(library, f.lock_clocks, {"nvmlDeviceSetGpuLockedClocks"});
    find(library, f.unlock_clocks, {"nvmlDeviceResetGpuLockedClocks"});
    return f;
}

}  // namespace

Nvml::Nvml()
    : library_(dlopen(library_name(), RTLD_NOW), [](void* handle) {
          if (handle) dlclose(handle);
      }) {
    if (!library_) throw MachineError(fmt::format("no NVIDIA driver: {} cannot be loaded", library_name()));
    functions_ = all_functions(library_.get());
    if (!functions_.init || !functions_.device_count || !functions_.device_by_index || !functions_.pci)
        throw MachineError(
            fmt::format("{} lacks functions that every driver since 2014 has", library_name()));
    if (const int status = functions_.init(); status != kNvmlSuccess)
        throw MachineError(fmt::format("the NVIDIA driver does not answer: {}", text(status)));
}

Nvml::~Nvml() {
    if (functions_.shutdown) functions_.shutdown();
}

std::string Nvml::text(int status) const {
    const char* words = functions_.error_string ? functions_.error_string(status) : nullptr;
    return words ? fmt::format("{} (NVML {})", words, status) : fmt::format("NVML error {}", status);
}

}  // namespace voltpile
