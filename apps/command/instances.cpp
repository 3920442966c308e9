#include "command/instances.h"

#include <map>

namespace voltpile::command {

Spread spread_of(const JobSpec& job) {
    const std::string& choice = job.text("command.instances");
    if (choice == "node") return Spread::Node;
    if (choice == "rank") return Spread::Rank;
    return choice == "allocation" || job.axes().empty() ? Spread::Allocation : Spread::Point;
}

std::vector<int> instance_ranks(Spread spread, const Plan& plan) {
    if (spread != Spread::Rank && spread != Spread::Node) return {0};
    std::map<int, int> ranks;  // by rank or node
    for (int rank = 0; rank < static_cast<int>(plan.ranks.size()); ++rank)
        ranks.emplace(spread == Spread::Rank ? rank : plan.ranks[static_cast<std::size_t>(rank)].node, rank);
    std::vector<int> firsts;
    for (const auto& [place, rank] : ranks) firsts.push_back(rank);
    return firsts;
}

std::int64_t count_instances(Spread spread, std::span<const std::string> hosts, std::int64_t ranks_per_node) {
    if (spread == Spread::Rank) return std::ssize(hosts);
    if (spread != Spread::Node) return 1;
    std::map<std::string, std::int64_t> ranks_on;
    for (const std::string& host : hosts) ++ranks_on[host];
    std::int64_t count = 0;
    for (const auto& [host, ranks] : ranks_on)
        count += ranks_per_node > 0 ? (ranks + ranks_per_node - 1) / ranks_per_node : 1;
    return count;
}

}  // namespace voltpile::command
