#include "plan/core_division.h"

#include <algorithm>
#include <map>

namespace voltpile {

int divide_cores(const Topology& topology, const Host& host, const HostRanks& ranks,
                 std::vector<std::vector<int>>& cores) {
    std::vector<bool> taken(host.cores.size());
    auto allowed = [&](int rank) -> const std::vector<int>& {
        return topology.ranks[static_cast<std::size_t>(rank)].allowed_cores;
    };
    auto give = [&](int rank, int core) {
        taken[static_cast<std::size_t>(core)] = true;
        cores[static_cast<std::size_t>(rank)].push_back(core);
    };

    for (std::size_t i = 0; i < ranks.with_gpu.size(); ++i) {
        const int rank = ranks.with_gpu[i];
        int best = -1;
        for (int core : allowed(rank)) {
            if (taken[static_cast<std::size_t>(core)]) continue;
            const bool near =
                host.cores[static_cast<std::size_t>(core)].numa_node == ranks.numa_node_of_gpu[i];
            if (best < 0 || near) best = core;
            if (near) break;
        }
        if (best >= 0) give(rank, best);
    }

    // Which of the computing ranks may use each free core; each such set shares its cores in equal blocks.
    std::vector<std::vector<int>> may_use(host.cores.size());
    for (int rank : ranks.on_cores)
        for (int core : allowed(rank)) may_use[static_cast<std::size_t>(core)].push_back(rank);
    std::map<std::vector<int>, std::vector<int>> shared_by;
    for (std::size_t core = 0; core < taken.size(); ++core)
        if (!taken[core] && !may_use[core].empty())
            shared_by[may_use[core]].push_back(static_cast<int>(core));
    for (const auto& [sharers, free] : shared_by)
        for (std::size_t k = 0; k < free.size(); ++k)
            give(sharers[k * sharers.size() / free.size()], free[k]);

    int without = 0;
    auto share_one = [&](int rank) {
        auto& mine = cores[static_cast<std::size_t>(rank)];
        if (!mine.empty() || allowed(rank).empty()) return;
        const auto local =
            static_cast<std::size_t>(topology.ranks[static_cast<std::size_t>(rank)].local_rank);
        mine.push_back(allowed(rank)[local % allowed(rank).size()]);
        ++without;
    };
    for (int rank : ranks.with_gpu) share_one(rank);
    for (int rank : ranks.on_cores) share_one(rank);
    return without;
}

}  // namespace voltpile
