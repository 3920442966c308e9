// What a GPU is connected by, as NVIDIA's management library (NVML) says. NVML is part of the driver and is
// loaded when asked for, so that one program serves machines with and without GPUs.
#pragma once

#include <map>
#include <string>

namespace voltpile {

inline constexpr const char* nvlink_switch = "switch";

struct GpuLinks {
    // One direction, in gigabytes a second, by the PCI bus id ("0000:1b:00.0", lower case) of the GPU at the
    // other end; of links into an NVSwitch, which leads to all GPUs that have any, under nvlink_switch.
    std::map<std::string, double> nvlink_gb_per_s;
    double pcie_gb_per_s = 0;  // one direction; 0: not known
};

// Empty where NVML is not there or does not know.
GpuLinks gpu_links(const std::string& pci_bus_id);

// NVML's and CUDA's spellings of a PCI bus id in one: "00000000:1B:00.0" is "0000:1b:00.0".
std::string plain_bus_id(std::string bus_id);

}  // namespace voltpile
