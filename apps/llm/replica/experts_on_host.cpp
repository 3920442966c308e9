#include "llm/replica/experts_on_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/format.h"

namespace voltpile::llm {
namespace {

std::string size_text(std::uint64_t bytes) {
    return bytes_text(static_cast<double>(bytes));
}

}  // namespace

int most_experts_on_host(const ModelConfig& config) {
    return config.hidden % 2 == 0 ? layers_with_experts(config) : 0;
}

void check_experts_on_host(const ModelConfig& config, const ReplicaRequest& request) {
    const int layers = layers_with_experts(config);
    if (request.experts_on_host <= most_experts_on_host(config)) return;
    if (layers > 0 && config.hidden % 2 != 0)
        throw JobError(fmt::format(
            "--experts-on-host {}: the hidden size {} is odd, and experts in host memory need an even one; "
            "use --experts-on-host 0",
            request.experts_on_host, config.hidden));
    throw JobError(fmt::format(
        "--experts-on-host {}: {}", request.experts_on_host,
        layers == 0 ? "the model has no experts"
                    : fmt::format("the model has experts in {} layers, so at most {}", layers, layers)));
}

std::vector<int> expert_cores(const Plan& plan, int rank) {
    const RankPlan& mine = plan.ranks[static_cast<std::size_t>(rank)];
    std::vector<bool> taken(plan.host_of(mine).cores.size(), false);
    std::vector<std::vector<int>> may_use(taken.size());  // ranks with GPUs, for each core
    for (int r = 0; r < std::ssize(plan.ranks); ++r) {
        const RankPlan& other = plan.ranks[static_cast<std::size_t>(r)];
        if (other.host != mine.host) continue;
        for (const int core : other.cores) taken[static_cast<std::size_t>(core)] = true;
        if (other.gpu < 0) continue;
        for (const int core : plan.topology.ranks[static_cast<std::size_t>(r)].allowed_cores)
            may_use[static_cast<std::size_t>(core)].push_back(r);
    }
    std::map<std::vector<int>, std::vector<int>> shared_by;  // the free cores of each set of ranks
    for (std::size_t core = 0; core < taken.size(); ++core)
        if (!taken[core]) shared_by[may_use[core]].push_back(static_cast<int>(core));
    std::vector<int> cores(mine.cores.begin() + std::min<std::ptrdiff_t>(1, std::ssize(mine.cores)),
                           mine.cores.end());
    // In equal blocks. Of a remainder, later ranks get more: divide_cores() gives more to earlier ones.
    for (const auto& [sharers, free] : shared_by) {
        const auto me = std::ranges::find(sharers, rank) - sharers.begin();
        if (me == std::ssize(sharers)) continue;
        cores.insert(cores.end(), free.begin() + me * std::ssize(free) / std::ssize(sharers),
                     free.begin() + (me + 1) * std::ssize(free) / std::ssize(sharers));
    }
    return cores.empty() ? mine.cores : cores;
}

std::uint64_t host_expert_bytes(const ReplicaPlan& plan, std::size_t stage) {
    return plan.stages[stage].host_layers > 0 ? plan.stages[stage].host_experts + plan.host_working : 0;
}

std::string host_memory_obstacle(const ReplicaPlan& plan) {
    if (plan.experts_on_host == 0) return "";
    std::vector<std::uint64_t> used(plan.plan.topology.hosts.size(), 0), of_experts = used;
    for (std::size_t r = 0; r < plan.plan.ranks.size(); ++r) {
        const RankPlan& rank = plan.plan.ranks[r];
        const TeamPlace& place = plan.plan.teams.places[r];
        const auto host = static_cast<std::size_t>(rank.host);
        used[host] += static_cast<std::uint64_t>(rank.memory_bytes);
        if (place.replica < 0) continue;
        of_experts[host] += host_expert_bytes(plan, static_cast<std::size_t>(place.stage));
        used[host] += static_cast<std::uint64_t>(cuda_bytes_of_host);
    }
    for (std::size_t h = 0; h < used.size(); ++h) {
        used[h] += plan.request.taken_of_host(static_cast<int>(h));
        const Host& host = plan.plan.topology.hosts[h];
        const auto has = static_cast<std::uint64_t>(host.memory_bytes);
        if (has > 0 && of_experts[h] > 0 && used[h] + of_experts[h] > has)
            return fmt::format(
                "the experts of {} layers in host memory take {} on {} beside the {} of its ranks, and it "
                "has {}",
                plan.experts_on_host, size_text(of_experts[h]), host.name, size_text(used[h]),
                size_text(has));
    }
    return "";
}

std::string experts_on_host_text(const ReplicaPlan& plan, const ModelConfig& config) {
    if (plan.experts_on_host == 0) return "";
    std::uint64_t most = 0;
    for (const StageNeeds& stage : plan.stages) most = std::max(most, stage.host_experts);
    std::size_t cores = 0;  // of the rank with the most
    for (int r = 0; r < std::ssize(plan.plan.ranks); ++r)
        if (plan.plan.teams.places[static_cast<std::size_t>(r)].replica >= 0)
            cores = std::max(cores, expert_cores(plan.plan, r).size());
    return fmt::format(
        "the experts of the last {} of {} layers with experts stay in host memory: {} of weights a rank, {} "
        "for its passes, computed by {} core{}{}",
        plan.experts_on_host, layers_with_experts(config), size_text(most), size_text(plan.host_working),
        cores, cores == 1 ? "" : "s",
        plan.streamed_rows > 0
            ? fmt::format("; passes of {} tokens and more copy them to the GPUs", plan.streamed_rows)
            : "");
}

}  // namespace voltpile::llm
