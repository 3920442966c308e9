#include "command/instances.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace voltpile::command {
namespace {

// Ranks on hosts "a", "b", ..., which get their ranks in this order.
Plan plan_of(const std::string& hosts, int ranks_per_node) {
    Topology topology;
    std::vector<int> local_ranks;
    for (const char name : hosts) {
        const auto known = std::ranges::find(topology.hosts, std::string(1, name), &Host::name);
        const auto index = known - topology.hosts.begin();
        if (known == topology.hosts.end()) {
            Host host;
            host.name = std::string(1, name);
            for (int pu = 0; pu < 8; ++pu) host.cores.push_back({pu, 0});
            topology.hosts.push_back(host);
            local_ranks.push_back(0);
        }
        topology.ranks.push_back({static_cast<int>(index),
                                  local_ranks[static_cast<std::size_t>(index)]++,
                                  {0, 1, 2, 3, 4, 5, 6, 7},
                                  {}});
    }
    Workload work;
    work.points = std::ssize(hosts);
    PlanOptions options;
    options.ranks_per_node = ranks_per_node;
    return make_plan(work, options, topology);
}

std::vector<std::string> names_of(const std::string& hosts) {
    std::vector<std::string> names;
    for (const char name : hosts) names.emplace_back(1, name);
    return names;
}

TEST(Instances, RunOnceOnEachNodeWhateverTheOrderOfTheRanks) {
    const struct {
        std::string hosts;
        int ranks_per_node;
        std::vector<int> runs;  // in the order of the nodes
    } cases[] = {{"aabb", 0, {0, 2}},      {"abab", 0, {0, 1}},  {"abba", 0, {0, 1}},
                 {"abcabc", 0, {0, 1, 2}}, {"aabab", 0, {0, 2}}, {"abab", 1, {0, 2, 1, 3}},
                 {"ababa", 2, {0, 4, 1}},  {"aaaa", 3, {0, 3}}};
    for (const auto& [hosts, ranks_per_node, runs] : cases) {
        SCOPED_TRACE(hosts);
        const Plan plan = plan_of(hosts, ranks_per_node);
        EXPECT_EQ(instance_ranks(Spread::Node, plan), runs);
        EXPECT_EQ(count_instances(Spread::Node, names_of(hosts), ranks_per_node), std::ssize(runs));
        EXPECT_EQ(std::ssize(plan.nodes), std::ssize(runs));
        for (std::size_t i = 0; i < runs.size(); ++i)
            EXPECT_EQ(plan.ranks[static_cast<std::size_t>(runs[i])].node, static_cast<int>(i));
    }
}

TEST(Instances, RunOnEachRankOrOnce) {
    const Plan plan = plan_of("abab", 1);
    EXPECT_EQ(instance_ranks(Spread::Rank, plan), (std::vector{0, 1, 2, 3}));
    EXPECT_EQ(count_instances(Spread::Rank, names_of("abab"), 1), 4);
    EXPECT_EQ(instance_ranks(Spread::Allocation, plan), std::vector{0});
    EXPECT_EQ(count_instances(Spread::Allocation, names_of("abab"), 1), 1);
}

}  // namespace
}  // namespace voltpile::command
