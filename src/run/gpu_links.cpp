#include "run/gpu_links.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>

namespace voltpile {
namespace {

// Declared as in NVML's documentation: not every CUDA installation has its header.
struct NvmlPci {
    char legacy_bus_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};
using NvmlDevice = struct NvmlDeviceOpaque*;
constexpr unsigned most_links = 18;
constexpr int remote_is_gpu = 0, remote_is_switch = 2;

// Loads NVML and unloads it again. All calls return 0 for success.
class Nvml {
  public:
    Nvml()
        : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW), [](void* handle) {
              if (handle) dlclose(handle);
          }) {
        const auto init = find<int()>("nvmlInit_v2");
        ready_ = init && init() == 0;
    }
    ~Nvml() {
        if (const auto shutdown = find<int()>("nvmlShutdown"); ready_ && shutdown) shutdown();
    }
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;

    NvmlDevice device(const std::string& pci_bus_id) const {
        NvmlDevice found = nullptr;
        const auto call = find<int(const char*, NvmlDevice*)>("nvmlDeviceGetHandleByPciBusId_v2");
        return ready_ && call && call(pci_bus_id.c_str(), &found) == 0 ? found : nullptr;
    }

    unsigned number(const char* name, NvmlDevice device) const {
        unsigned value = 0;
        const auto call = find<int(NvmlDevice, unsigned*)>(name);
        return call && call(device, &value) == 0 ? value : 0;
    }

    template <class T>
    bool of_link(const char* name, NvmlDevice device, unsigned link, T& value) const {
        const auto call = find<int(NvmlDevice, unsigned, T*)>(name);
        return call && call(device, link, &value) == 0;
    }

  private:
    template <class Function>
    Function* find(const char* name) const {
        return library_ ? reinterpret_cast<Function*>(dlsym(library_.get(), name)) : nullptr;
    }

    std::unique_ptr<void, void (*)(void*)> library_;
    bool ready_ = false;
};

// Gigabytes per second and direction of one NVLink, by NVML's number of its version: 1.0, 2.0, 2.2, 3.0, 3.1,
// 4.0, 5.0. The vendor's figures.
double nvlink_rate(unsigned version) {
    constexpr std::array<double, 8> rates{0, 20, 25, 25, 25, 25, 25, 50};
    return rates[std::min<std::size_t>(version, rates.size() - 1)];
}

// The same for one PCIe lane: transfers per second less the encoding.
double pcie_lane_rate(unsigned generation) {
    constexpr std::array<double, 7> rates{0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
    return rates[std::min<std::size_t>(generation, rates.size() - 1)];
}

}  // namespace

std::string plain_bus_id(std::string bus_id) {
    constexpr std::size_t length = 12;  // "0000:1b:00.0"
    if (bus_id.size() > length) bus_id.erase(0, bus_id.size() - length);
    std::ranges::transform(bus_id, bus_id.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return bus_id;
}

GpuLinks gpu_links(const std::string& pci_bus_id) {
    GpuLinks links;
    const Nvml nvml;
    const NvmlDevice device = nvml.device(pci_bus_id);
    if (!device) return links;
    links.pcie_gb_per_s = pcie_lane_rate(nvml.number("nvmlDeviceGetMaxPcieLinkGeneration", device)) *
                          nvml.number("nvmlDeviceGetMaxPcieLinkWidth", device);
    for (unsigned link = 0; link < most_links; ++link) {
        unsigned active = 0, generation = 0;
        int remote = remote_is_gpu;  // the answer of older drivers, which cannot tell
        NvmlPci pci{};
        if (!nvml.of_link("nvmlDeviceGetNvLinkState", device, link, active) || !active) continue;
        if (!nvml.of_link("nvmlDeviceGetNvLinkVersion", device, link, generation)) continue;
        nvml.of_link("nvmlDeviceGetNvLinkRemoteDeviceType", device, link, remote);
        if (remote == remote_is_switch)
            links.nvlink_gb_per_s[nvlink_switch] += nvlink_rate(generation);
        else if (nvml.of_link("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, link, pci))
            links.nvlink_gb_per_s[plain_bus_id(pci.bus_id)] += nvlink_rate(generation);
    }
    return links;
}

}  // namespace voltpile
