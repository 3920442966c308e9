#include "plan/device_tree.h"

#include <fmt/format.h>

#include "base/pcie_rate.h"

namespace voltpile {

double gb_per_s(const PcieLink& link) {
    return pcie_gb_per_s(link.generation, link.lanes);
}

std::string to_text(const PcieLink& link) {
    if (link.lanes == 0) return "";
    return link.generation == 0 ? fmt::format("PCIe x{}", link.lanes)
                                : fmt::format("PCIe {}.0 x{}", link.generation, link.lanes);
}

}  // namespace voltpile
