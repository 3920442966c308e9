#include "machine/gpu_links.h"

#include <algorithm>
#include <array>

#include "base/pcie_rate.h"

namespace voltpile {
namespace {

// Gigabytes per second and direction of one NVLink, by NVML's number of its version: 1.0, 2.0, 2.2, 3.0, 3.1,
// 4.0, 5.0. The vendor's figures.
double nvlink_rate(int version) {
    constexpr std::array<double, 8> rates{0, 20, 25, 25, 25, 25, 25, 50};
    return rates[std::min<std::size_t>(static_cast<std::size_t>(version), rates.size() - 1)];
}

}  // namespace

GpuLinks gpu_links(const GpuSnapshot& gpu) {
    GpuLinks links;
    links.pcie_gb_per_s = pcie_gb_per_s(static_cast<int>(gpu.pcie_generation_max.value_or(0)),
                                        static_cast<int>(gpu.pcie_width_max.value_or(0)));
    for (const NvLink& link : gpu.links) {
        if (!link.up) continue;
        const std::string end = link.to_switch ? nvlink_switch : link.remote_bus_id;
        if (end.empty()) continue;
        links.nvlink_gb_per_s[end] += nvlink_rate(link.version);
        ++links.nvlinks[end];
    }
    return links;
}

}  // namespace voltpile
