#include "plan/cores.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

namespace voltpile {
namespace {

// Share of the peak rate at nominal clock. Measured: 0.5 to 0.75 by method, type and width, in instructions
// as Workload counts them; the CPU kernels execute up to a fifth more.
constexpr double efficiency = 0.65;

// Models with one 512-bit unit: first and second generation Xeon Scalable, 11th generation Core, and Zen 4.
constexpr std::array single_unit{"Xeon(R) Bronze 3",
                                 "Xeon(R) Silver 41",
                                 "Xeon(R) Silver 42",
                                 "Xeon(R) Gold 51",
                                 "Xeon(R) Gold 52",
                                 "Core(TM)",
                                 "AMD "};
constexpr std::array but_two{"Gold 5122", "Gold 5222"};

template <std::size_t n>
bool contains_any(std::string_view text, const std::array<const char*, n>& parts) {
    for (const char* part : parts)
        if (text.find(part) != std::string_view::npos) return true;
    return false;
}

}  // namespace

int vector_units(const Host& host) {
    const bool one = contains_any(host.cpu_name, single_unit) && !contains_any(host.cpu_name, but_two);
    return host.simd_bits >= 512 && one ? 1 : 2;
}

double core_lane_cycles_per_s(const Host& host, bool fp64) {
    return host.simd_bits / (fp64 ? 64.0 : 32.0) * host.cpu_ghz * 1e9;
}

double core_lanes_per_s(const Host& host, bool fp64) {
    return core_lane_cycles_per_s(host, fp64) * vector_units(host) * efficiency;
}

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

    // Group the free cores by the set of ranks that may use them; each set shares its cores in equal blocks.
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

    // Without ranks that compute on cores, those near a GPU belong to the ranks that drive the GPUs there.
    if (ranks.on_cores.empty()) {
        std::map<int, std::vector<int>> ranks_near;  // by NUMA node
        for (std::size_t i = 0; i < ranks.with_gpu.size(); ++i)
            if (ranks.numa_node_of_gpu[i] >= 0)
                ranks_near[ranks.numa_node_of_gpu[i]].push_back(ranks.with_gpu[i]);
        for (const auto& [node, sharers] : ranks_near) {
            std::vector<int> free;
            for (std::size_t core = 0; core < taken.size(); ++core)
                if (!taken[core] && host.cores[core].numa_node == node)
                    free.push_back(static_cast<int>(core));
            for (std::size_t k = 0; k < free.size(); ++k) {
                const int rank = sharers[k * sharers.size() / free.size()];
                if (std::ranges::find(allowed(rank), free[k]) != allowed(rank).end()) give(rank, free[k]);
            }
        }
    }

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

int numa_nodes_of(const Host& host, const std::vector<int>& cores) {
    std::set<int> nodes;
    for (const int core : cores) nodes.insert(host.cores[static_cast<std::size_t>(core)].numa_node);
    return static_cast<int>(nodes.size());
}

}  // namespace voltpile
