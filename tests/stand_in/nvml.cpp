// A library with NVML's functions that plays back a described node, for tests on machines without GPUs. The
// program finds it through LD_LIBRARY_PATH; VOLTPILE_STAND_IN_NODE names the description, the JSON that
// voltpile-probe prints (src/machine/node_json.h) plus faults:
//   node: "init": N       NVML does not start and returns N
//         "hang": true    NVML's start never returns
//   GPU:  "lost": true    the GPU fell off the bus: every call returns 15
//         "hang": "NAME"  reading the number NAME never returns; with "hang_after": N, not before N elements
//         of
//                         its list were read
//         "fail_after": {"NAME": [N, STATUS]}  it returns STATUS once N elements of its list were read
//         "fail": {"NAME": N}  reading the number NAME returns N
//         "settable": true     power limit and clocks may be set; what is set is written to the description
// A number may be a list: each reading takes the next element, and the last one stays. Numbers that are
// missing are not supported.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace {

using nlohmann::json;
using Device = struct NvmlDeviceOpaque*;

constexpr int kSuccess = 0, kInvalid = 2, kUnsupported = 3, kDenied = 4, kNotFound = 6, kTooSmall = 7,
              kLost = 15, kWrongVersion = 25;

struct Pci {
    char legacy_bus_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

struct FieldValue {
    unsigned field, scope;
    long long unix_time_us, latency_us;
    unsigned type;
    int status;
    unsigned long long wide;
};

struct MemoryV2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

json& node() {
    static json description;
    return description;
}

std::map<std::string, std::size_t>& readings() {
    static std::map<std::string, std::size_t> taken;
    return taken;
}

[[noreturn]] void hang() {
    for (;;) pause();
}

std::size_t index_of(Device device) {
    return reinterpret_cast<std::size_t>(device) - 1;
}

json& gpu(Device device) {
    return node()["gpus"][index_of(device)];
}

// The number of elements of the number's list that were read.
std::size_t& taken_of(Device device, const std::string& name) {
    return readings()[name + "@" + std::to_string(index_of(device))];
}

int fault(Device device, const std::string& name) {
    const json& about = gpu(device);
    if (about.value("lost", false)) return kLost;
    if (about.value("hang", "") == name &&
        taken_of(device, name) >= about.value("hang_after", std::size_t{0}))
        hang();
    if (about.contains("fail_after") && about["fail_after"].contains(name) &&
        taken_of(device, name) >= about["fail_after"][name][0].get<std::size_t>())
        return about["fail_after"][name][1];
    return about.contains("fail") ? about["fail"].value(name, kSuccess) : kSuccess;
}

int read(Device device, const std::string& name, double& value) {
    if (const int status = fault(device, name)) return status;
    const json& about = gpu(device);
    if (!about.contains(name)) return kUnsupported;
    const json& said = about[name];
    if (!said.is_array()) {
        value = said;
        return kSuccess;
    }
    std::size_t& taken = taken_of(device, name);
    value = said[std::min(taken++, said.size() - 1)];
    return kSuccess;
}

template <class Number>
int put(Device device, const char* name, Number* to, double scale = 1) {
    double value = 0;
    const int status = read(device, name, value);
    if (status == kSuccess) *to = static_cast<Number>(value * scale + 0.5);
    return status;
}

int put_text(Device device, const char* name, char* to, unsigned size) {
    if (const int status = fault(device, name)) return status;
    std::snprintf(to, size, "%s", gpu(device).value(name, "").c_str());
    return kSuccess;
}

// Bus ids as NVML spells them: "00000000:1B:00.0".
void put_bus_id(const std::string& plain, Pci* pci) {
    *pci = {};
    std::string upper = "0000" + plain;
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    std::snprintf(pci->bus_id, sizeof pci->bus_id, "%s", upper.c_str());
    std::snprintf(pci->legacy_bus_id, sizeof pci->legacy_bus_id, "%s", upper.c_str() + 4);
    std::sscanf(plain.c_str(), "%x:%x:%x", &pci->domain, &pci->bus, &pci->device);
}

const json* link_of(Device device, unsigned number) {
    const json& about = gpu(device);
    if (!about.contains("links")) return nullptr;
    for (const json& link : about["links"])
        if (link["number"] == number) return &link;
    return nullptr;
}

template <class Number>
int put_of_link(Device device, unsigned number, const char* name, Number* to) {
    if (const int status = fault(device, "links")) return status;
    const json* link = link_of(device, number);
    if (!link) return kInvalid;
    if (!link->contains(name)) return kUnsupported;
    *to = (*link)[name].is_boolean() ? Number{(*link)[name].get<bool>()} : (*link)[name].get<Number>();
    return kSuccess;
}

// Sets a number for this process and for all that come later.
int set(Device device, const char* name, double value) {
    if (const int status = fault(device, std::string("set ") + name)) return status;
    json& about = gpu(device);
    if (!about.value("settable", false)) return kDenied;
    about[name] = value;
    const std::string path = std::getenv("VOLTPILE_STAND_IN_NODE"), written = path + ".tmp";
    std::ofstream(written) << node();
    return std::rename(written.c_str(), path.c_str()) == 0 ? kSuccess : kInvalid;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
    const char* path = std::getenv("VOLTPILE_STAND_IN_NODE");
    std::ifstream in(path ? path : "");
    node() = json::parse(in, nullptr, false);
    if (node().is_discarded()) {
        std::fprintf(stderr, "stand-in NVML: VOLTPILE_STAND_IN_NODE names no description\n");
        std::abort();
    }
    if (node().value("hang", false)) hang();
    return node().value("init", kSuccess);
}
int nvmlShutdown() {
    return kSuccess;
}
const char* nvmlErrorString(int status) {
    switch (status) {
        case kDenied:
            return "Insufficient Permissions";
        case 9:
            return "Driver Not Loaded";
        case kLost:
            return "GPU is lost";
        case 18:
            return "Driver/library version mismatch";
        default:
            return "Unknown Error";
    }
}
int nvmlSystemGetDriverVersion(char* to, unsigned size) {
    std::snprintf(to, size, "%s", node().value("driver_version", "").c_str());
    return kSuccess;
}
int nvmlSystemGetCudaDriverVersion_v2(int* to) {
    *to = node().value("cuda_version", 0);
    return kSuccess;
}
int nvmlDeviceGetCount_v2(unsigned* to) {
    *to = static_cast<unsigned>(node()["gpus"].size());
    return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* to) {
    *to = reinterpret_cast<Device>(static_cast<std::size_t>(index) + 1);
    return gpu(*to).value("lost", false) ? kLost : kSuccess;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, Device* to) {
    for (std::size_t i = 0; i < node()["gpus"].size(); ++i)
        if (node()["gpus"][i].value("bus_id", "") == bus_id)
            return nvmlDeviceGetHandleByIndex_v2(static_cast<unsigned>(i), to);
    return kNotFound;
}
int nvmlDeviceGetName(Device device, char* to, unsigned size) {
    return put_text(device, "name", to, size);
}
int nvmlDeviceGetUUID(Device device, char* to, unsigned size) {
    return put_text(device, "uuid", to, size);
}
int nvmlDeviceGetPciInfo_v3(Device device, Pci* to) {
    if (const int status = fault(device, "bus_id")) return status;
    put_bus_id(gpu(device).value("bus_id", ""), to);
    return kSuccess;
}
// "memory_reserved_bytes" is the driver's; without it this driver is an older one, which has no such call.
int nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2* to) {
    if (to->version != (sizeof(MemoryV2) | 2u << 24)) return kWrongVersion;
    double total = 0, used = 0, reserved = 0;
    if (const int status = read(device, "memory_reserved_bytes", reserved)) return status;
    if (const int status = read(device, "memory_total_bytes", total)) return status;
    if (const int status = read(device, "memory_used_bytes", used)) return status;
    to->total = static_cast<unsigned long long>(total);
    to->reserved = static_cast<unsigned long long>(reserved);
    to->used = static_cast<unsigned long long>(used - reserved);
    to->free = static_cast<unsigned long long>(total - used);
    return kSuccess;
}
int nvmlDeviceGetMemoryInfo(Device device, unsigned long long* total_free_used) {
    double total = 0, used = 0;
    if (const int status = read(device, "memory_total_bytes", total)) return status;
    if (const int status = read(device, "memory_used_bytes", used)) return status;
    total_free_used[0] = static_cast<unsigned long long>(total);
    total_free_used[1] = static_cast<unsigned long long>(total - used);
    total_free_used[2] = static_cast<unsigned long long>(used);
    return kSuccess;
}
int nvmlDeviceGetPowerUsage(Device device, unsigned* to) {
    return put(device, "power_w", to, 1e3);
}
int nvmlDeviceGetPowerManagementLimit(Device device, unsigned* to) {
    return put(device, "power_limit_w", to, 1e3);
}
int nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned* to) {
    return put(device, "power_limit_enforced_w", to, 1e3);
}
int nvmlDeviceGetPowerManagementDefaultLimit(Device device, unsigned* to) {
    return put(device, "power_limit_default_w", to, 1e3);
}
int nvmlDeviceGetPowerManagementLimitConstraints(Device device, unsigned* least, unsigned* most) {
    const int status = put(device, "power_limit_min_w", least, 1e3);
    return status ? status : put(device, "power_limit_max_w", most, 1e3);
}
int nvmlDeviceGetTotalEnergyConsumption(Device device, unsigned long long* to) {
    return put(device, "energy_j", to, 1e3);
}
int nvmlDeviceGetClockInfo(Device device, int clock, unsigned* to) {
    return put(device, clock == 2 ? "memory_clock_mhz" : "sm_clock_mhz", to);
}
int nvmlDeviceGetMaxClockInfo(Device device, int clock, unsigned* to) {
    return put(device, clock == 2 ? "memory_clock_max_mhz" : "sm_clock_max_mhz", to);
}
int nvmlDeviceGetApplicationsClock(Device device, int clock, unsigned* to) {
    return put(device, clock == 2 ? "application_memory_clock_mhz" : "application_clock_mhz", to);
}
int nvmlDeviceGetDefaultApplicationsClock(Device device, int clock, unsigned* to) {
    return clock == 2 ? kUnsupported : put(device, "application_clock_default_mhz", to);
}
int nvmlDeviceGetTemperature(Device device, int, unsigned* to) {
    return put(device, "temperature_c", to);
}
int nvmlDeviceGetTemperatureThreshold(Device device, int threshold, unsigned* to) {
    return put(device, threshold == 0 ? "temperature_shutdown_c" : "temperature_slowdown_c", to);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* to) {
    return put(device, "throttle_reasons", to);
}
int nvmlDeviceGetUtilizationRates(Device device, unsigned* gpu_memory) {
    const int status = put(device, "utilization_percent", &gpu_memory[0]);
    return status ? status : put(device, "memory_utilization_percent", &gpu_memory[1]);
}
int nvmlDeviceGetEccMode(Device device, int* now, int* later) {
    const int status = put(device, "ecc_on", now);
    *later = *now;
    return status;
}
int nvmlDeviceGetTotalEccErrors(Device device, int type, int ever, unsigned long long* to) {
    if (type == 0) return ever ? kUnsupported : put(device, "ecc_corrected", to);
    return put(device, ever ? "ecc_uncorrected_ever" : "ecc_uncorrected", to);
}
int nvmlDeviceGetRetiredPages(Device device, int cause, unsigned* count, unsigned long long* addresses) {
    unsigned pages = 0;
    if (const int status = put(device, "retired_pages", &pages)) return status;
    if (cause == 0) pages = 0;
    const bool fits = pages <= *count && (addresses || pages == 0);
    *count = pages;
    return fits ? kSuccess : kTooSmall;
}
int nvmlDeviceGetRetiredPagesPendingStatus(Device device, int* to) {
    return put(device, "retirement_pending", to);
}
int nvmlDeviceGetRemappedRows(Device device, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                              unsigned* failed) {
    *corrected = *pending = 0;
    const int status = put(device, "remapped_rows", uncorrected);
    return status ? status : put(device, "remapping_failed", failed);
}
int nvmlDeviceGetCurrPcieLinkGeneration(Device device, unsigned* to) {
    return put(device, "pcie_generation", to);
}
int nvmlDeviceGetCurrPcieLinkWidth(Device device, unsigned* to) {
    return put(device, "pcie_width", to);
}
int nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned* to) {
    return put(device, "pcie_generation_max", to);
}
int nvmlDeviceGetMaxPcieLinkWidth(Device device, unsigned* to) {
    return put(device, "pcie_width_max", to);
}
int nvmlDeviceGetPcieReplayCounter(Device device, unsigned* to) {
    return put(device, "pcie_replays", to);
}
int nvmlDeviceGetPcieThroughput(Device device, int direction, unsigned* to) {
    return put(device, direction == 0 ? "pcie_sent_bytes_per_s" : "pcie_received_bytes_per_s", to, 1e-3);
}
int nvmlDeviceGetFieldValues(Device device, int count, FieldValue* values) {
    struct Known {
        unsigned field;
        const char* name;
        double scale;
    };
    constexpr Known known[] = {{82, "memory_temperature_c", 1},
                               {138, "nvlink_sent_bytes", 1.0 / 1024},
                               {139, "nvlink_received_bytes", 1.0 / 1024},
                               {186, "power_instant_w", 1e3},
                               {197, "pcie_sent_bytes", 1},
                               {198, "pcie_received_bytes", 1}};
    if (gpu(device).value("lost", false)) return kLost;
    for (FieldValue& value : std::span(values, static_cast<std::size_t>(count))) {
        value.status = kUnsupported;
        for (const Known& each : known)
            if (each.field == value.field) value.status = put(device, each.name, &value.wide, each.scale);
        value.type = 3;  // unsigned long long
    }
    return kSuccess;
}
int nvmlDeviceGetNvLinkState(Device device, unsigned number, int* to) {
    return put_of_link(device, number, "up", to);
}
int nvmlDeviceGetNvLinkVersion(Device device, unsigned number, unsigned* to) {
    return put_of_link(device, number, "version", to);
}
int nvmlDeviceGetNvLinkRemoteDeviceType(Device device, unsigned number, int* to) {
    const json* link = link_of(device, number);
    if (!link) return kInvalid;
    *to = link->value("to_switch", false) ? 2 : 0;
    return kSuccess;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, unsigned number, Pci* to) {
    const json* link = link_of(device, number);
    if (!link || !link->contains("remote_bus_id")) return kNotFound;
    put_bus_id((*link)["remote_bus_id"], to);
    return kSuccess;
}
int nvmlDeviceGetNvLinkErrorCounter(Device device, unsigned number, int counter, unsigned long long* to) {
    if (counter == 3) {  // all CRC errors count as those of flits
        *to = 0;
        return kSuccess;
    }
    constexpr const char* names[] = {"replays", "recoveries", "crc_errors"};
    return put_of_link(device, number, names[counter], to);
}

int nvmlDeviceSetPowerManagementLimit(Device device, unsigned milliwatts) {
    double least = 0, most = 0;
    if (read(device, "power_limit_min_w", least) || read(device, "power_limit_max_w", most))
        return kUnsupported;
    if (milliwatts < least * 1e3 || milliwatts > most * 1e3) return kInvalid;
    return set(device, "power_limit_w", milliwatts / 1e3);
}
int nvmlDeviceSetApplicationsClocks(Device device, unsigned memory, unsigned graphics) {
    if (!gpu(device).contains("application_clock_mhz")) return kUnsupported;
    const int status = set(device, "application_memory_clock_mhz", memory);
    return status ? status : set(device, "application_clock_mhz", graphics);
}
int nvmlDeviceSetGpuLockedClocks(Device device, unsigned, unsigned most) {
    return set(device, "locked_clock_mhz", most);
}
int nvmlDeviceResetGpuLockedClocks(Device device) {
    return set(device, "locked_clock_mhz", 0);
}

}  // extern "C"
