#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "plan/topology.h"

namespace voltpile {

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
