#include "plan/team.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/error.h"
#include "plan/cluster_file.h"
#include "plan/links.h"
#include "plan/plan.h"

using namespace voltpile;

namespace {

constexpr std::int64_t gb = 1'000'000'000;

// Returns nodes with these numbers of GPUs of 16 GB; each node is one NVLink island.
std::vector<TeamCandidate> nodes_of(const std::vector<int>& gpus) {
    std::vector<TeamCandidate> ranks;
    for (std::size_t n = 0; n < gpus.size(); ++n)
        for (int g = 0; g < gpus[n]; ++g)
            ranks.push_back({static_cast<int>(n), "node" + std::to_string(n), true, 0, 16 * gb});
    return ranks;
}

TeamShape shape(int tensor, int pipeline, int replicas) {
    TeamShape out;
    out.tensor = tensor;
    out.pipeline = pipeline;
    out.replicas = replicas;
    return out;
}

// Checks what must hold for every plan.
void expect_sound(const TeamPlan& plan, const std::vector<TeamCandidate>& ranks) {
    std::set<int> used;
    ASSERT_EQ(plan.places.size(), ranks.size());
    for (std::size_t replica = 0; replica < plan.teams.size(); ++replica) {
        const Team& team = plan.teams[replica];
        ASSERT_EQ(team.stages.size(), static_cast<std::size_t>(plan.pipeline));
        int last_node = -1;
        for (std::size_t stage = 0; stage < team.stages.size(); ++stage) {
            ASSERT_EQ(team.stages[stage].size(), static_cast<std::size_t>(plan.tensor));
            const TeamCandidate& first = ranks[static_cast<std::size_t>(team.stages[stage][0])];
            for (std::size_t t = 0; t < team.stages[stage].size(); ++t) {
                const int r = team.stages[stage][t];
                EXPECT_TRUE(used.insert(r).second) << "rank " << r << " is in two groups";
                EXPECT_EQ(ranks[static_cast<std::size_t>(r)].node, first.node) << "a group over two nodes";
                EXPECT_EQ(ranks[static_cast<std::size_t>(r)].island, first.island);
                EXPECT_EQ(ranks[static_cast<std::size_t>(r)].has_gpu, first.has_gpu);
                EXPECT_EQ(
                    plan.places[static_cast<std::size_t>(r)],
                    (TeamPlace{static_cast<int>(replica), static_cast<int>(stage), static_cast<int>(t)}));
            }
            EXPECT_GE(first.node, last_node) << "stages go back and forth between nodes";
            last_node = first.node;
        }
    }
    for (std::size_t r = 0; r < ranks.size(); ++r)
        EXPECT_EQ(plan.places[r].replica >= 0, used.contains(static_cast<int>(r))) << "rank " << r;
    EXPECT_EQ(plan.notes.empty(), used.size() == ranks.size());
}

std::string error_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

void expect_in(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text << "\nhas no: " << part;
}

}  // namespace

TEST(Team, SweepTeamsAreSingleRanks) {
    auto ranks = nodes_of({1, 1});
    ranks[1].has_gpu = false;  // computes on its cores
    const TeamPlan plan = plan_teams({}, ranks);
    EXPECT_TRUE(plan.single());
    ASSERT_EQ(plan.teams.size(), 2u);
    expect_sound(plan, ranks);
}

TEST(Team, PlansOnePipelineStagePerNode) {
    const auto ranks = nodes_of({4, 4, 4});
    const TeamPlan plan = plan_teams(shape(4, 3, 0), ranks);
    expect_sound(plan, ranks);
    ASSERT_EQ(plan.teams.size(), 1u);
    EXPECT_EQ(plan.teams[0].stages[2], (std::vector<int>{8, 9, 10, 11}));
    EXPECT_EQ(to_text(plan, ranks),
              "1 replica of 3 pipeline stages of 4 tensor-parallel ranks\n"
              "        0  node0: 0 1 2 3  ->  node1: 4 5 6 7  ->  node2: 8 9 10 11\n");
}

TEST(Team, OpenCountsUseEveryRank) {
    const auto ranks = nodes_of({4, 4, 4});
    const TeamPlan all_open = plan_teams(shape(0, 0, 0), ranks);
    EXPECT_EQ(all_open.tensor, 4);
    EXPECT_EQ(all_open.pipeline, 1);
    EXPECT_EQ(all_open.teams.size(), 3u);
    const TeamPlan one_replica = plan_teams(shape(0, 0, 1), ranks);
    EXPECT_EQ(one_replica.tensor, 4);
    EXPECT_EQ(one_replica.pipeline, 3);
    const TeamPlan of_two = plan_teams(shape(2, 0, 2), ranks);
    EXPECT_EQ(of_two.pipeline, 3);
    EXPECT_EQ(of_two.teams.size(), 2u);
    for (const TeamPlan& plan : {all_open, one_replica, of_two}) expect_sound(plan, ranks);
}

TEST(Team, AddsStagesToFitMemory) {
    TeamShape wanted = shape(0, 0, 0);
    wanted.memory_bytes = 140 * gb;  // 70e9 fp16 weights need nine GPUs of 16 GB: three stages of four
    const auto ranks = nodes_of({4, 4, 4});
    const TeamPlan plan = plan_teams(wanted, ranks);
    expect_sound(plan, ranks);
    EXPECT_EQ(plan.tensor, 4);
    EXPECT_EQ(plan.pipeline, 3);
    EXPECT_EQ(plan.teams.size(), 1u);
    wanted.memory_bytes = 20 * gb;  // two would suffice; four per group keep all ranks busy
    EXPECT_EQ(plan_teams(wanted, ranks).teams.size(), 3u);
    wanted.memory_bytes = 200 * gb;  // more than 12 * 16 GB
    expect_in(error_of([&] { plan_teams(wanted, ranks); }), "needs 4 of them for the memory");
    wanted.memory_bytes = 100 * gb;  // 100 / (4 * 16) > 1
    wanted.tensor = 4;
    wanted.pipeline = 1;
    expect_in(error_of([&] { plan_teams(wanted, ranks); }), "needs 2 of them for the memory");
}

TEST(Team, TensorDividesHeads) {
    TeamShape wanted = shape(0, 1, 0);
    wanted.tensor_divides = 9;
    const auto ranks = nodes_of({4, 4});
    EXPECT_EQ(plan_teams(wanted, ranks).tensor, 1);  // 3 divides too, but leaves two ranks idle
    wanted.tensor = 2;
    EXPECT_THROW(plan_teams(wanted, ranks), JobError);
    expect_in(error_of([&] { plan_teams(wanted, ranks); }),
              "--tensor 2 does not divide the model's 9 heads; possible: 1, 3");
}

TEST(Team, ExplainsWhatDoesNotFit) {
    const auto ranks = nodes_of({4, 2});
    EXPECT_THROW(plan_teams(shape(8, 1, 0), ranks), MachineError);
    expect_in(error_of([&] { plan_teams(shape(8, 1, 0), ranks); }), "node0 has 4; possible: 1, 2, 3, 4");
    expect_in(error_of([&] { plan_teams(shape(2, 2, 2), ranks); }),
              "--tensor 2, --pipeline 2, 2 replicas do not fit 6 ranks: --tensor 2 makes 3 groups");
    TeamShape wanted = shape(1, 6, 1);
    wanted.most_stages = 5;
    EXPECT_THROW(plan_teams(wanted, ranks), JobError);
    EXPECT_THROW(plan_teams(shape(-1, 1, 1), ranks), JobError);
    EXPECT_THROW(plan_teams(shape(2, 1, 1), {}), MachineError);
}

TEST(Team, LeavesRanksIdleOnUnevenNodes) {
    const auto ranks = nodes_of({4, 3, 1});
    const TeamPlan pairs = plan_teams(shape(2, 1, 0), ranks);
    expect_sound(pairs, ranks);
    EXPECT_EQ(pairs.teams.size(), 3u);
    ASSERT_EQ(pairs.notes.size(), 1u);
    expect_in(pairs.notes[0], "2 ranks are in no team: 6, 7;");
    EXPECT_EQ(plan_teams(shape(0, 1, 0), ranks).tensor, 1);  // the only count that uses all ranks
}

TEST(Team, KeepsGroupsInsideNvlinkIslands) {
    auto ranks = nodes_of({4});
    for (std::size_t r = 0; r < 4; ++r) ranks[r].island = static_cast<int>(r % 2);
    const TeamPlan plan = plan_teams(shape(2, 0, 1), ranks);
    expect_sound(plan, ranks);
    EXPECT_EQ(plan.teams[0].stages, (std::vector<std::vector<int>>{{0, 2}, {1, 3}}));
    EXPECT_THROW(plan_teams(shape(4, 1, 0), ranks), MachineError);
    for (TeamCandidate& each : ranks) each.island = -1;  // no NVLink: all GPUs are equal
    EXPECT_EQ(plan_teams(shape(4, 1, 0), ranks).teams.size(), 1u);
}

TEST(Team, AcceptsInterleavedNodes) {
    std::vector<TeamCandidate> ranks;  // mpirun --map-by node
    for (int r = 0; r < 8; ++r) ranks.push_back({r % 2, r % 2 ? "b" : "a", true, 0, 16 * gb});
    const TeamPlan plan = plan_teams(shape(4, 2, 1), ranks);
    expect_sound(plan, ranks);
    EXPECT_EQ(plan.teams[0].stages, (std::vector<std::vector<int>>{{0, 2, 4, 6}, {1, 3, 5, 7}}));
}

TEST(Team, PlansAThousandRanksInEveryShape) {
    const auto ranks = nodes_of(std::vector<int>(250, 4));
    for (const int tensor : {0, 1, 2, 3, 4})
        for (const int pipeline : {0, 1, 2, 3, 7, 50, 250})
            for (const int replicas : {0, 1, 3}) {
                if (pipeline * std::max(replicas, 1) > 250) continue;
                expect_sound(plan_teams(shape(tensor, pipeline, replicas), ranks), ranks);
            }
    EXPECT_EQ(plan_teams(shape(4, 5, 0), ranks).teams.size(), 50u);
}

TEST(Team, FindsNvlinkCliques) {
    // Eight V100 in a hybrid cube mesh: two fully connected quads and a link from each GPU to its twin.
    std::vector<std::vector<bool>> cube(8, std::vector<bool>(8));
    for (std::size_t a = 0; a < 8; ++a)
        for (std::size_t b = 0; b < 8; ++b) cube[a][b] = a != b && (a / 4 == b / 4 || a % 4 == b % 4);
    EXPECT_EQ(nvlink_islands(cube), (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1}));
    std::vector<std::vector<bool>> pairs(5, std::vector<bool>(5));
    pairs[0][2] = pairs[2][0] = pairs[1][3] = pairs[3][1] = true;
    EXPECT_EQ(nvlink_islands(pairs), (std::vector<int>{0, 1, 0, 1, -1}));
}

namespace {

Plan plan_for(const std::string& cluster, const TeamShape& team, int ranks_per_node = 0) {
    Workload work;
    work.points = 1000;
    work.team = team;
    PlanOptions options;
    options.ranks_per_node = ranks_per_node;
    return make_plan(work, options, load_cluster(VOLTPILE_SOURCE_DIR "/data/clusters/" + cluster, 0));
}

}  // namespace

TEST(TeamOfCluster, PlansThreeStagesOnThreeT181) {
    const Plan plan = plan_for("t181_x3.toml", shape(0, 0, 1));
    expect_sound(plan.teams, team_candidates(plan));
    EXPECT_EQ(plan.teams.tensor, 4);
    EXPECT_EQ(plan.teams.pipeline, 3);
    expect_in(to_text(plan), "t181-1: 0 1 2 3  ->  t181-2: 4 5 6 7  ->  t181-3: 8 9 10 11");
}

TEST(TeamOfCluster, SplitsHostIntoNodes) {
    const Plan plan = plan_for("t180.toml", shape(0, 0, 1), 2);
    expect_sound(plan.teams, team_candidates(plan));
    EXPECT_EQ(plan.nodes, (std::vector<std::string>{"t180:0", "t180:1"}));
    EXPECT_EQ(plan.teams.tensor, 2);
    EXPECT_EQ(plan.teams.pipeline, 2);
    expect_in(to_text(plan), "4 on 1 host as 2 nodes");
    expect_in(to_text(plan), "t180:0: 0 1  ->  t180:1: 2 3");
    for (int r = 0; r < 4; ++r) EXPECT_EQ(plan.ranks[static_cast<std::size_t>(r)].gpu, r);
    EXPECT_EQ(plan_for("t180.toml", shape(1, 1, 0), 3).nodes.size(), 2u);  // three and one
    EXPECT_THROW(plan_for("t180.toml", shape(4, 1, 0), 2), MachineError);
}

TEST(TeamOfCluster, ExcludesRanksWithoutGpu) {
    const Plan plan = plan_for("mixed_home.toml", shape(0, 0, 1));
    expect_sound(plan.teams, team_candidates(plan));
    EXPECT_EQ(plan.teams.teams.size(), 1u);
    EXPECT_EQ(plan.teams.places[1], TeamPlace{});  // the server
    expect_in(to_text(plan), "1 rank is in no team: 1;");
    EXPECT_EQ(plan_for("mixed_home.toml", {}).teams.teams.size(), 2u);  // a sweep uses both
}

TEST(Link, NamesWhatConnectsRanks) {
    Plan plan = plan_for("t181_x3.toml", {});
    for (Host& host : plan.topology.hosts) {
        host.network_gbit_per_s = 100;
        host.nvlink_gb_per_s.assign(4, std::vector<double>(4, 50));  // two links of 25 GB/s to each
        host.nvlink_gb_per_s[0][3] = 0;
        for (Gpu& gpu : host.gpus) gpu.pcie_gb_per_s = 15.75;
    }
    plan.topology.hosts[2].network_gbit_per_s = 10;
    EXPECT_EQ(link_between(plan, 0, 1).text, "NVLink");
    EXPECT_EQ(link_between(plan, 0, 1).theory_bytes_per_s, 50e9);
    EXPECT_EQ(link_between(plan, 0, 3).text, "PCIe");
    EXPECT_EQ(link_between(plan, 0, 3).theory_bytes_per_s, 15.75e9);
    EXPECT_EQ(link_between(plan, 0, 4).theory_bytes_per_s, 12.5e9);  // 100 Gb/s
    EXPECT_EQ(link_between(plan, 0, 8).theory_bytes_per_s, 1.25e9);  // the slower end
    plan.ranks[1].gpu = -1;
    EXPECT_EQ(link_between(plan, 0, 1).text, "host memory");
}
