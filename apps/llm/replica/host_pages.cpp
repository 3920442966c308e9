#include "llm/replica/host_pages.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/format.h"

namespace voltpile::llm {

ReplicaPlan with_host_pages(ReplicaPlan plan) {
    if (plan.request.host_cache_tokens == 0) return plan;
    plan.host_pages = pages_for(plan.request.host_cache_tokens);
    const auto tokens = static_cast<std::uint64_t>(plan.host_pages) * kv_page_tokens;
    std::vector<std::int64_t> used(plan.plan.topology.hosts.size(), 0);
    for (std::size_t r = 0; r < plan.plan.ranks.size(); ++r) {
        RankPlan& rank = plan.plan.ranks[r];
        const TeamPlace& place = plan.plan.teams.places[r];
        if (place.replica >= 0)
            rank.memory_bytes += static_cast<std::int64_t>(
                plan.stages[static_cast<std::size_t>(place.stage)].kv_per_token * tokens);
        auto& sum = used[static_cast<std::size_t>(rank.host)];
        sum += rank.memory_bytes;
        // The draft model's, which is added to the plan later.
        if (place.replica >= 0 && rank.gpu < 0 && !plan.request.taken.empty())
            sum += static_cast<std::int64_t>(plan.request.taken[static_cast<std::size_t>(place.stage)]);
    }
    for (std::size_t h = 0; h < used.size(); ++h) {
        used[h] += static_cast<std::int64_t>(plan.request.taken_of_host(static_cast<int>(h)));
        const Host& host = plan.plan.topology.hosts[h];
        if (host.memory_bytes > 0 && used[h] > host.memory_bytes)
            throw MachineError(fmt::format(
                "--host-cache-tokens {}: the ranks on {} would need {} of memory, and it has {}",
                plan.request.host_cache_tokens, host.name, bytes_text(static_cast<double>(used[h])),
                bytes_text(static_cast<double>(host.memory_bytes))));
    }
    return plan;
}

}  // namespace voltpile::llm
