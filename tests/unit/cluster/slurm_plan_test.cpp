#include <gtest/gtest.h>

#include "base/error.h"
#include "unit/cluster/slurm_submit_fixtures.h"

using namespace voltpile;
using namespace voltpile::testing;

namespace {

// Returns the message of the rejection.
template <class Refusal>
std::string refusal(const SubmitRequest& request, const SlurmMachine& machine,
                    const std::string& run_keys = "") {
    try {
        plan_for(request, machine, run_keys);
    } catch (const Refusal& error) {
        return error.what();
    }
    return "not refused";
}

bool has(const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
}

bool noted(const SubmitPlan& plan, const std::string& words) {
    for (const std::string& note : plan.notes)
        if (has(note, words)) return true;
    return false;
}

}  // namespace

TEST(SlurmPlan, StartsOneRankPerGpu) {
    SubmitRequest request;
    request.nodes = 3;
    const SubmitPlan plan = plan_for(request, t181_cluster());
    EXPECT_EQ(plan.layout.nodes.size(), 3u);
    EXPECT_EQ(plan.layout.share.ranks, 4);
    EXPECT_EQ(plan.layout.share.gpus, 4);
    EXPECT_EQ(plan.layout.cpus_per_task, 4 * 2);  // hardware threads
    EXPECT_TRUE(plan.notes.empty()) << plan.notes.front();
    // A V100 peaks at 7.8 TFLOP/s, 3.9e12 FMA instructions per second; estimates must not exceed that.
    // The map is 1,000 times as large here, so that start and end do not matter.
    const double estimate_s = plan_for(request, t181_cluster(), "", 1000).estimate_s;
    const double at_peak_s = 1e9 * 50'000 * 139 / (12 * 3.9e12);
    EXPECT_GT(estimate_s, at_peak_s);
    EXPECT_LT(estimate_s, 1.5 * at_peak_s);
}

TEST(SlurmPlan, StartsOneRankPerSocketWithoutGpus) {
    const SubmitPlan plan = plan_for({}, t181_cluster(), "device = \"cpu\"");
    EXPECT_EQ(plan.layout.share.ranks, 2);
    EXPECT_EQ(plan.layout.share.gpus, 0);
    EXPECT_EQ(plan.layout.share.cores, 40);
    EXPECT_EQ(plan.layout.cpus_per_task, 20 * 2);
    EXPECT_TRUE(noted(plan, "2 GHz"));
    // The same on nodes with GPUs if the user does not want them.
    SubmitRequest request;
    request.gpus_per_node = 0;
    EXPECT_EQ(plan_for(request, t181_cluster()).layout.share.ranks, 2);
}

TEST(SlurmPlan, FillsNodesWithRanksOfFewThreads) {
    const SubmitPlan plan = plan_for({}, t181_cluster(), "device = \"cpu\"\nthreads = 4");
    EXPECT_EQ(plan.layout.share.ranks, 10);
    EXPECT_EQ(plan.layout.cpus_per_task, 4 * 2);
}

TEST(SlurmPlan, UsesFewestNodesThatFinishInTime) {
    // The map takes seconds on one node; 60,000 times the map takes 8 h on one node and less than 3 h on
    // three.
    EXPECT_EQ(plan_for({}, t181_cluster()).layout.nodes.size(), 1u);
    EXPECT_EQ(plan_for({}, t181_cluster(), "", 60000).layout.nodes.size(), 3u);
    SubmitRequest request;
    request.time = "1-00";
    EXPECT_EQ(plan_for(request, t181_cluster(), "", 60000).layout.nodes.size(), 1u);
    request.time = "6:00:00";
    const SubmitPlan plan = plan_for(request, t181_cluster(), "", 60000);
    EXPECT_EQ(plan.layout.nodes.size(), 2u);
    EXPECT_EQ(plan.time.limit_s, 6 * 3600);
    EXPECT_TRUE(noted(plan, "2 of 3 nodes"));
}

TEST(SlurmPlan, UsesWhatMostNodesHave) {
    std::vector<SlurmNode> nodes{make_node("big", 40, 8)};
    for (int i = 0; i < 10; ++i) nodes.push_back(make_node("small" + std::to_string(i), 20, 4));
    SubmitRequest request;
    EXPECT_EQ(plan_for(request, make_machine(nodes)).layout.share.gpus, 4);
    request.nodes = 1;
    EXPECT_EQ(plan_for(request, make_machine(nodes)).layout.share.gpus, 8);
    request.nodes = 11;
    EXPECT_EQ(plan_for(request, make_machine(nodes)).layout.share.gpus, 4);
}

TEST(SlurmPlan, EstimatesForTheSlowestNodes) {
    SubmitRequest request;
    request.nodes = 1;
    const auto machine = make_machine({make_node("fast", 20, 4, "a100"), make_node("slow", 20, 4, "p100")});
    EXPECT_EQ(plan_for(request, machine).layout.nodes.at(0).name, "slow");
}

TEST(SlurmPlan, CountsAndNamesUnknownGpus) {
    const SubmitPlan plan = plan_for({}, make_machine({make_node("a", 8, 2, "fake")}));
    EXPECT_EQ(plan.layout.share.gpus, 2);
    EXPECT_TRUE(noted(plan, "not known: fake"));
}

TEST(SlurmPlan, IgnoresNodesThatAreDown) {
    SlurmMachine machine = t181_cluster();
    machine.nodes[0].state = "DOWN*";
    EXPECT_EQ(plan_for({}, machine, "", 60000).layout.nodes.size(), 2u);
    SubmitRequest request;
    request.nodes = 3;
    EXPECT_TRUE(noted(plan_for(request, machine), "t181-1 (DOWN*)"));
}

TEST(SlurmPlan, ArraySharesTheSweep) {
    SubmitRequest request;
    request.nodes = 1;
    const double whole = plan_for(request, t181_cluster()).estimate_s;
    request.array = 2;
    const double half = plan_for(request, t181_cluster()).estimate_s;
    request.array = 4;
    const SubmitPlan plan = plan_for(request, t181_cluster());
    EXPECT_EQ(plan.array, 4);
    // Each element starts and ends once.
    const double start_and_end = 2 * half - whole;
    EXPECT_GT(start_and_end, 0);
    EXPECT_NEAR(plan.estimate_s, start_and_end + (whole - start_and_end) / 4, 1e-9 * whole);
}

TEST(SlurmPlan, RequestsMemoryWithMarginUpToTheNodes) {
    SlurmMachine machine = t181_cluster();
    const int generous = plan_for({}, machine).memory_mb;
    EXPECT_GT(generous, 4 * 1024);  // four ranks that use CUDA
    EXPECT_LT(generous, 20'000);
    for (SlurmNode& node : machine.nodes) node.memory_mb = 2000;
    EXPECT_EQ(plan_for({}, machine).memory_mb, 2000);
    for (SlurmNode& node : machine.nodes) node.memory_mb = 100;  // four ranks at 64 MB and more do not fit
    EXPECT_TRUE(has(refusal<MachineError>({}, machine), "memory"));
}

TEST(SlurmPlan, RejectsInvalidRequests) {
    SlurmMachine machine = t181_cluster();
    SubmitRequest request;
    request.partition = "mian";
    EXPECT_EQ(refusal<JobError>(request, machine),
              "--partition=mian: there is no such partition; did you mean main?; there are: main");
    machine.partitions[0].is_default = false;
    EXPECT_TRUE(has(refusal<JobError>({}, machine), "choose one with --partition: main"));

    request = {};
    request.time = "tomorrow";
    EXPECT_TRUE(has(refusal<JobError>(request, t181_cluster()), "--time=tomorrow"));
    request = {};
    request.array = 1001;
    EXPECT_TRUE(has(refusal<JobError>(request, t181_cluster()), "1000 points"));
    request = {};
    request.gpus_per_node = 2;
    EXPECT_TRUE(has(refusal<JobError>(request, t181_cluster(), "device = \"cpu\""), "--gpus-per-node"));
    request.gpus_per_node = 0;
    EXPECT_TRUE(has(refusal<JobError>(request, t181_cluster(), "device = \"gpu\""), "--gpus-per-node"));
}

TEST(SlurmPlan, RejectsRequestsThatDoNotFit) {
    const auto refused = [](auto&& change, const std::string& run_keys = "") {
        SubmitRequest request;
        SlurmMachine machine = t181_cluster();
        change(request, machine);
        return refusal<MachineError>(request, machine, run_keys);
    };
    EXPECT_EQ(refused([](auto& r, auto&) { r.nodes = 4; }), "--nodes=4: partition main has 3 nodes");
    EXPECT_TRUE(has(refused([](auto& r, auto& m) {
                        r.nodes = 3;
                        m.partitions[0].max_nodes = 2;
                    }),
                    "at most 2"));
    EXPECT_TRUE(has(refused([](auto& r, auto&) { r.tasks_per_node = 41; }), "at most 40"));
    EXPECT_TRUE(has(refused([](auto& r, auto& m) {
                        r.tasks_per_node = 9;
                        m.partitions[0].max_cpus_per_node = 16;  // hardware threads
                    }),
                    "at most 8"));
    EXPECT_TRUE(has(refused([](auto& r, auto&) { r.gpus_per_node = 5; }), "--gpus-per-node=5"));
    EXPECT_TRUE(
        has(refused([](auto& r, auto&) { r.tasks_per_node = 5; }, "device = \"gpu\""), "one for each task"));
    EXPECT_TRUE(has(refused(
                        [](auto&, auto& m) {
                            for (SlurmNode& node : m.nodes) node.gpus.clear();
                        },
                        "device = \"gpu\""),
                    "run.device = \"gpu\", but no node"));
    EXPECT_TRUE(has(refused([](auto& r, auto& m) {
                        r.time = "3";
                        m.partitions[0].max_time_s = 120;
                    }),
                    "00:02:00"));
    EXPECT_TRUE(has(refused([](auto& r, auto&) { r.time = "1"; }, "range_seconds = 40"), "too short"));
    EXPECT_TRUE(has(refused([](auto& r, auto& m) {
                        r.array = 11;
                        m.max_array_size = 11;
                    }),
                    "allows 10"));
    EXPECT_TRUE(has(refused([](auto&, auto& m) { m.partitions[0].state = "DOWN"; }), "it is DOWN"));
    EXPECT_TRUE(has(refused([](auto&, auto& m) { m.nodes.clear(); }), "no nodes"));
}
