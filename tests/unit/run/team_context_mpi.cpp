// Teams of real ranks. Run under mpirun at 1, 2 and 4 ranks (tests/CMakeLists.txt).
#include <gtest/gtest.h>

#include "base/error.h"
#include "comm/mpi/session.h"
#include "run/team_context.h"

using namespace voltpile;

namespace {

const Communicator& world(const MpiSession* session = nullptr) {
    static const MpiSession* kept = session;
    return kept->world();
}

// All ranks on one CPU-only host, which counts as nodes of `ranks_per_node`. With `interleaved`, ranks are
// dealt out to two hosts in turn.
Plan plan_for(const TeamShape& shape, int ranks_per_node, bool interleaved = false) {
    Topology topology;
    Host host;
    host.cpu_ghz = 1;
    for (int c = 0; c < world().size(); ++c) host.cores.push_back({c, 0});
    for (int h = 0; h < (interleaved ? 2 : 1); ++h) topology.hosts.push_back(host);
    for (int r = 0; r < world().size(); ++r)
        topology.ranks.push_back({interleaved ? r % 2 : 0, interleaved ? r / 2 : r, {r}, {}});
    Workload work;
    work.points = 100;
    work.team = shape;
    PlanOptions options;
    options.ranks_per_node = ranks_per_node;
    return make_plan(work, options, topology);
}

std::int32_t sum_over(StreamCommunicator& group, std::int32_t mine) {
    std::int32_t sum = -1;
    group.all_reduce(&mine, &sum, 1, ElementType::Int32, Reduction::Sum, StreamRef::host());
    return sum;
}

// Each group sums its world ranks; the sum travels along the pipeline, and from its end back to the first
// stage.
void run_pipeline(const Plan& plan) {
    const TeamContext team(world(), plan);
    ASSERT_EQ(team.place(), plan.teams.places[static_cast<std::size_t>(world().rank())]);
    if (team.idle()) return;
    const Team& mine = plan.teams.teams[static_cast<std::size_t>(team.replica())];
    EXPECT_EQ(team.team().size(), plan.teams.tensor * plan.teams.pipeline);
    EXPECT_EQ(team.tensor().rank(), team.place().tensor_rank);
    EXPECT_EQ(team.tensor().size(), plan.teams.tensor);
    std::int32_t expected = 0;
    for (const int r : mine.stages[static_cast<std::size_t>(team.place().stage)]) expected += r;
    EXPECT_EQ(sum_over(team.tensor(), world().rank()), expected);

    std::int32_t along = 0;
    if (!team.first_stage()) team.previous().receive(host_memory(&along, sizeof along)).wait();
    along += world().rank();
    Channel& onward = team.last_stage() ? team.to_stage(0) : team.next();
    const Transfer sent = onward.send(host_memory(&along, sizeof along));
    if (team.first_stage()) {
        std::int32_t total = -1, all = 0;
        team.to_stage(team.stages() - 1).receive(host_memory(&total, sizeof total)).wait();
        for (const auto& stage : mine.stages)
            all += stage[static_cast<std::size_t>(team.place().tensor_rank)];
        EXPECT_EQ(total, all);
    }
    sent.wait();
}

TeamShape shape(int tensor, int pipeline, int replicas) {
    TeamShape out;
    out.tensor = tensor;
    out.pipeline = pipeline;
    out.replicas = replicas;
    return out;
}

class Teams : public testing::Test {
  protected:
    void SetUp() override {
        if (!VOLTPILE_UCX && world().size() > 1) GTEST_SKIP() << "built without UCX";
    }
    void TearDown() override { world().all_gather(""); }
};

}  // namespace

TEST_F(Teams, HoldSingleRanks) {
    run_pipeline(plan_for({}, 0));
}

TEST_F(Teams, SpanAllNodesWithOnePipeline) {
    const Plan plan = plan_for(shape(0, 0, 1), 2);
    EXPECT_EQ(plan.teams.pipeline, world().size() > 2 ? 2 : 1);
    run_pipeline(plan);
}

TEST_F(Teams, FormPipelinesOfSingleRanks) {
    run_pipeline(plan_for(shape(1, world().size() > 1 ? 2 : 1, 0), 0));
}

TEST_F(Teams, AcceptRanksDistributedRoundRobin) {
    if (world().size() < 2) GTEST_SKIP() << "needs two ranks";
    const Plan plan = plan_for(shape(0, 2, 1), 0, true);
    EXPECT_EQ(plan.teams.tensor, world().size() / 2);
    run_pipeline(plan);
}

TEST_F(Teams, LeaveRanksOut) {
    run_pipeline(plan_for(shape(1, 1, 1), 0));
}

TEST_F(Teams, RejectAPlanForOtherRanks) {
    Plan plan = plan_for({}, 0);
    plan.teams.places.emplace_back();
    EXPECT_THROW(TeamContext(world(), plan), CommError);
    plan = plan_for({}, 0);
    const TeamContext team(world(), plan);
    EXPECT_THROW(team.next(), CommError);
    EXPECT_THROW(team.previous(), CommError);
}

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    const MpiSession session(argc, argv);
    world(&session);
    const int failed = RUN_ALL_TESTS();
    // A rank that fails alone must fail the whole run.
    int any = 0;
    for (const std::string& each : world().all_gather(std::string(1, static_cast<char>(failed))))
        any |= each[0];
    return any;
}
