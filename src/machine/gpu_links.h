// The links of a GPU, from its snapshot.
#pragma once

#include <map>
#include <string>

#include "machine/gpu_snapshot.h"

namespace voltpile {

inline constexpr const char* nvlink_switch = "switch";

struct GpuLinks {
    // Gigabytes per second in one direction, by the PCI bus id ("0000:1b:00.0", lower case) of the GPU at the
    // other end. Links into an NVSwitch, which reaches all GPUs that have any, are under nvlink_switch. Links
    // that are down do not count.
    std::map<std::string, double> nvlink_gb_per_s;
    std::map<std::string, int> nvlinks;  // the number of these links
    double pcie_gb_per_s = 0;            // one direction, of what GPU and slot can do; 0: unknown
};

GpuLinks gpu_links(const GpuSnapshot& gpu);

}  // namespace voltpile
