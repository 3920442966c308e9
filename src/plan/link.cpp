#include "plan/link.h"

#include <algorithm>

namespace voltpile {

RankLink link_between(const Plan& plan, int a, int b) {
    const RankPlan& one = plan.ranks[static_cast<std::size_t>(a)];
    const RankPlan& other = plan.ranks[static_cast<std::size_t>(b)];
    const Host& host = plan.host_of(one);
    if (one.host != other.host) {
        const double bits = std::min(host.network_gbit_per_s, plan.host_of(other).network_gbit_per_s);
        return {"network", bits * 1e9 / 8};
    }
    if (one.gpu < 0 || other.gpu < 0) return {"host memory", 0};
    const auto g = static_cast<std::size_t>(one.gpu), h = static_cast<std::size_t>(other.gpu);
    if (g < host.nvlink_gb_per_s.size() && host.nvlink_gb_per_s[g][h] > 0)
        return {"NVLink", host.nvlink_gb_per_s[g][h] * 1e9};
    return {"PCIe", std::min(host.gpus[g].pcie_gb_per_s, host.gpus[h].pcie_gb_per_s) * 1e9};
}

}  // namespace voltpile
