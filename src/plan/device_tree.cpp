#include "plan/device_tree.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace voltpile {

double gb_per_s(const PcieLink& link) {
    // Of one lane: transfers per second less the encoding, by generation.
    constexpr std::array<double, 7> rates{0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
    const auto generation = static_cast<std::size_t>(link.generation);
    return generation < rates.size() ? rates[generation] * link.lanes : 0;
}

std::string to_text(const PcieLink& link) {
    if (link.lanes == 0) return "";
    return link.generation == 0 ? fmt::format("PCIe x{}", link.lanes)
                                : fmt::format("PCIe {}.0 x{}", link.generation, link.lanes);
}

}  // namespace voltpile
