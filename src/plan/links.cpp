#include "plan/links.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <vector>

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

std::string transports_text(const Topology& topology) {
    constexpr std::size_t most_names = 8;
    std::vector<std::string> ways;  // in the order of their first host
    std::map<std::string, std::vector<std::string>> hosts_by_way;
    for (const Host& host : topology.hosts) {
        auto& hosts = hosts_by_way[host.transport];
        if (hosts.empty()) ways.push_back(host.transport);
        hosts.push_back(host.name);
    }
    std::vector<std::string> parts;
    for (const std::string& way : ways) {
        auto& hosts = hosts_by_way[way];
        const std::size_t more = hosts.size() > most_names ? hosts.size() - most_names : 0;
        hosts.resize(hosts.size() - more);
        parts.push_back(fmt::format("{}{}: {}", fmt::join(hosts, ", "),
                                    more > 0 ? fmt::format(" and {} more", more) : "", way));
    }
    return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace voltpile
