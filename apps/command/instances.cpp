#include "command/instances.h"

#include <map>
#include <set>
#include <string>

#include "base/host_name.h"

namespace voltpile::command {

Spread spread_of(const JobSpec& job) {
    const std::string& choice = job.text("command.instances");
    if (choice == "node") return Spread::Node;
    if (choice == "rank") return Spread::Rank;
    return choice == "allocation" || job.axes().empty() ? Spread::Allocation : Spread::Point;
}

std::vector<int> instance_ranks(Spread spread, const Plan& plan) {
    std::vector<int> ranks;
    std::set<int> nodes;
    for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
        const bool first = nodes.insert(plan.ranks[rank].node).second;
        if (rank == 0 || spread == Spread::Rank || (spread == Spread::Node && first))
            ranks.push_back(static_cast<int>(rank));
    }
    return ranks;
}

std::int64_t count_instances(const JobSpec& job, const Communicator& world) {
    const Spread spread = spread_of(job);
    if (spread == Spread::Rank) return world.size();
    if (spread != Spread::Node) return 1;
    std::map<std::string, std::int64_t> ranks_on;
    for (const std::string& host : world.all_gather(host_identity())) ++ranks_on[host];
    const std::int64_t each = job.integer("cluster.ranks_per_node");
    std::int64_t count = 0;
    for (const auto& [host, ranks] : ranks_on) count += each > 0 ? (ranks + each - 1) / each : 1;
    return count;
}

}  // namespace voltpile::command
