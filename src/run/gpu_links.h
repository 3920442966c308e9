// Reads the links of a GPU from NVIDIA's management library (NVML). NVML is part of the driver and is loaded
// on demand, so one program serves machines with and without GPUs.
#pragma once

#include <map>
#include <string>

namespace voltpile {

inline constexpr const char* nvlink_switch = "switch";

struct GpuLinks {
    // Gigabytes per second in one direction, by the PCI bus id ("0000:1b:00.0", lower case) of the GPU at the
    // other end. Links into an NVSwitch, which reaches all GPUs that have any, are under nvlink_switch.
    std::map<std::string, double> nvlink_gb_per_s;
    double pcie_gb_per_s = 0;  // one direction; 0: unknown
};

// Returns empty links if NVML is missing or does not know.
GpuLinks gpu_links(const std::string& pci_bus_id);

// Converts NVML's and CUDA's spellings of a PCI bus id to one: "00000000:1B:00.0" becomes "0000:1b:00.0".
std::string plain_bus_id(std::string bus_id);

}  // namespace voltpile
