#include "base/pcie_rate.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace voltpile {

double pcie_gb_per_s(int generation, int lanes) {
    constexpr std::array<double, 7> of_a_lane{0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
    return of_a_lane[std::min(static_cast<std::size_t>(generation), of_a_lane.size() - 1)] * lanes;
}

}  // namespace voltpile
