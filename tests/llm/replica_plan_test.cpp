// The cut that a model gets on described machines, and the messages if there is none. Sizes of weights are
// those of the published files (model_memory_test.cpp).
#include "llm/replica/replica_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "llm/model/synthetic_model.h"
#include "plan/cluster_file.h"

namespace voltpile::llm::replica_plan_test {
namespace {

Topology cluster(const char* name, int ranks_per_host = 0) {
    return load_cluster(std::string(VOLTPILE_SOURCE_DIR "/data/clusters/") + name, ranks_per_host);
}

ReplicaRequest request(int context, int tensor = 0, int pipeline = 0) {
    ReplicaRequest out;
    out.context = context;
    out.tensor = tensor;
    out.pipeline = pipeline;
    return out;
}

template <class Refusal>
std::string refusal(const ModelSource& model, const ReplicaRequest& what, const Topology& topology) {
    try {
        plan_replica(model, what, topology);
    } catch (const Refusal& error) {
        return error.what();
    }
    return "";
}

TEST(ReplicaPlan, UsesAllTensorRanksAndTheFewestStages) {
    const SyntheticModel small("llama-3-8b", "q8_0"), large("llama-3-70b", "q5_k_m");
    const ReplicaPlan one = plan_replica(small, request(8192), cluster("t180.toml"));
    EXPECT_EQ(one.plan.teams.tensor, 4);
    EXPECT_EQ(one.plan.teams.pipeline, 1);
    ASSERT_EQ(one.stages.size(), 1U);
    EXPECT_EQ(one.stages[0].layer_end, 32);

    // 13.3 GB of weights a GPU at TP4, and 82 KB a token: 8192 tokens fit into 16 GB, 100,000 do not.
    EXPECT_EQ(plan_replica(large, request(8192), cluster("t181_x3.toml")).plan.teams.pipeline, 1);
    const ReplicaPlan two = plan_replica(large, request(100'000), cluster("t181_x3.toml"));
    EXPECT_EQ(two.plan.teams.tensor, 4);
    EXPECT_EQ(two.plan.teams.pipeline, 2);
    EXPECT_EQ(two.stages[0].layer_end, two.stages[1].layer_begin);
    EXPECT_EQ(two.stages[1].layer_end, 80);
    EXPECT_EQ(two.plan.teams.teams.size(), 1U);
    EXPECT_NE(two.plan.warnings.back().find("4 ranks are in no team: 8, 9, 10, 11"), std::string::npos);
}

TEST(ReplicaPlan, ThreadsLimitRanksOnCoresOnly) {
    const SyntheticModel model("llama-3-8b", "q8_0");
    ReplicaRequest what = request(2048);
    what.threads = 3;
    EXPECT_GT(plan_replica(model, what, cluster("t180.toml")).plan.ranks[0].cores.size(), 3U);
    what.device = DeviceChoice::Cpu;
    EXPECT_EQ(plan_replica(model, what, cluster("t180.toml")).plan.ranks[0].cores.size(), 3U);
}

TEST(ReplicaPlan, AnOpenNumberOfReplicasKeepsTheMostRanksBusy) {
    const SyntheticModel model("llama-3-8b", "q8_0");
    ReplicaRequest what = request(2048);
    what.replicas = 0;
    const auto teams = [&](const Topology& topology) {
        return plan_replica(model, what, topology).plan.teams;
    };
    // Three nodes of four GPUs: all cuts keep twelve busy, and the widest answers fastest.
    EXPECT_EQ(teams(cluster("t181_x3.toml")).tensor, 4);
    EXPECT_EQ(teams(cluster("t181_x3.toml")).teams.size(), 3U);
    // Three GPUs of one node: the heads cannot be divided by three, and TP2 would leave one idle.
    EXPECT_EQ(teams(cluster("t180.toml", 3)).tensor, 1);
    EXPECT_EQ(teams(cluster("t180.toml", 3)).teams.size(), 3U);
    // A number of replicas makes the teams as wide as it leaves.
    what.replicas = 6;
    EXPECT_EQ(teams(cluster("t181_x3.toml")).tensor, 2);
    EXPECT_EQ(teams(cluster("t181_x3.toml")).teams.size(), 6U);
}

TEST(ReplicaPlan, CountsMemoryOnTheGpusThatHoldTheModel) {
    const SyntheticModel model("llama-3-8b", "q8_0");
    // 8.03e9 weights on four ranks, 34 bytes per 32 weights.
    constexpr std::int64_t weights = 8'030'000'000 / 32 * 34 / 4;
    constexpr std::int64_t of_cuda = 1'000'000'000;  // its context and kernels take less
    ReplicaRequest what = request(2048);
    const ReplicaPlan on_gpus = plan_replica(model, what, cluster("t180.toml"));
    for (const RankPlan& rank : on_gpus.plan.ranks) {
        EXPECT_GT(rank.gpu_memory_bytes, weights);
        EXPECT_LT(rank.gpu_memory_bytes, 2 * weights + of_cuda);
        EXPECT_LT(rank.memory_bytes, weights);  // only CUDA's libraries and results are on the host
    }
    what.device = DeviceChoice::Cpu;
    const ReplicaPlan on_cores = plan_replica(model, what, cluster("t180.toml"));
    for (const RankPlan& rank : on_cores.plan.ranks) {
        EXPECT_EQ(rank.gpu_memory_bytes, 0);
        EXPECT_GT(rank.memory_bytes, weights);
    }
}

// All experts of Qwen 3 30B-A3B, 30.5e9 weights with 34 bytes per 32, are in the memory of four GPUs: a
// quarter of each expert in each.
TEST(ReplicaPlan, SplitsEveryExpertOverTheGpusOfANode) {
    const SyntheticModel model("qwen-3-30b-a3b", "q8_0");
    const ReplicaPlan plan = plan_replica(model, request(8192), cluster("t180.toml"));
    EXPECT_EQ(plan.plan.teams.tensor, 4);
    EXPECT_EQ(plan.plan.teams.pipeline, 1);
    constexpr double weights = 30.5e9 / 32 * 34 / 4;
    // Every GPU has the whole embedding, 311e6 weights, the routers and the norms.
    EXPECT_GT(static_cast<double>(plan.stages[0].weights), weights);
    EXPECT_LT(static_cast<double>(plan.stages[0].weights), weights + 0.4e9);
    EXPECT_LT(static_cast<double>(plan.stages[0].experts), weights);
    EXPECT_GT(static_cast<double>(plan.stages[0].experts), 0.9 * weights);
}

// What the ops allocate for a row: see FeedForwardBuffers.
TEST(ReplicaPlan, CountsTheActivationsOfExpertsOnGpus) {
    const ModelConfig config = SyntheticModel("qwen-3-30b-a3b", "q8_0").config();
    const auto of = [&](int rows) { return working_bytes(config, WeightLayout::Gpu, {1, 1, rows, 1, {}}); };
    constexpr std::uint64_t gated = 8 * 768 * 2, routing = (4 * 8 + 1) * 4;  // eight experts a row
    constexpr std::uint64_t stream = 2 * 2048 * 4, hidden = (2048 + (2 * 32 + 2 * 4) * 128) * 2;
    const std::uint64_t row = (of(1001) - of(1));
    EXPECT_GE(row, 1000 * (gated + routing + stream + hidden));
    EXPECT_LT(row, 1100 * (gated + routing + stream + hidden));
}

TEST(ReplicaPlan, TreatsAHostAsTwoNodes) {
    ReplicaRequest what = request(2048);
    what.ranks_per_node = 2;
    const ReplicaPlan plan = plan_replica(SyntheticModel("llama-3-8b", "q8_0"), what, cluster("t180.toml"));
    EXPECT_EQ(plan.plan.teams.tensor, 2);
    EXPECT_EQ(plan.plan.teams.pipeline, 1);
}

TEST(ReplicaPlan, MoreRanksThanKvHeadsShareThem) {
    // 2 KV heads
    EXPECT_EQ(
        plan_replica(SyntheticModel("tiny", "q8_0"), request(64), cluster("t180.toml")).plan.teams.tensor, 4);
}

TEST(ReplicaPlan, StagesFollowTheMemoryOfTheirGpus) {
    Topology topology = cluster("t180.toml");
    Host other = topology.hosts[0];
    other.name = "large";
    for (Gpu& gpu : other.gpus) gpu.memory_bytes *= 2;
    topology.hosts.push_back(other);
    for (int r = 0; r < 4; ++r) {
        RankPlace place = topology.ranks[static_cast<std::size_t>(r)];
        place.host = 1;
        topology.ranks.push_back(place);
    }
    const ReplicaPlan plan =
        plan_replica(SyntheticModel("llama-3-70b", "q5_k_m"), request(4096, 4, 2), topology);
    // 14 of 16 GB and 30 of 32 GB are free, and the weights follow them within a layer of 150 MB.
    const double ratio =
        static_cast<double>(plan.stages[1].weights) / static_cast<double>(plan.stages[0].weights);
    EXPECT_NEAR(ratio, 30.0 / 14.0, 0.15);
}

TEST(ReplicaPlan, RejectsSplitsThatTheModelDoesNotAllow) {
    const SyntheticModel model("qwen-2.5-7b", "f16");  // 28 heads, 4 KV heads, 28 layers
    const std::string heads = refusal<JobError>(model, request(64, 3), cluster("t180.toml"));
    EXPECT_NE(heads.find("3 does not divide the 28 heads"), std::string::npos) << heads;
    EXPECT_NE(heads.find("1, 2, 4 would do"), std::string::npos) << heads;
    const std::string layers = refusal<JobError>(model, request(64, 1, 29), cluster("t180.toml"));
    EXPECT_NE(layers.find("at most 28 stages"), std::string::npos) << layers;
}

TEST(ReplicaPlan, RejectsCachesInFp32OnGpus) {
    const SyntheticModel model("llama-3-8b", "q8_0");
    ReplicaRequest what = request(64, 1);
    what.cache = KvElement::F32;
    const std::string message = refusal<JobError>(model, what, cluster("t180.toml"));
    EXPECT_NE(message.find("--cache fp32 is for cores"), std::string::npos) << message;
    what.device = DeviceChoice::Cpu;
    EXPECT_EQ(plan_replica(model, what, cluster("t180.toml")).request.cache, KvElement::F32);
}

TEST(ReplicaPlan, RejectsSplitsWithTooFewRanks) {
    const SyntheticModel model("llama-3-8b", "q8_0");
    const std::string wide = refusal<MachineError>(model, request(64, 8), cluster("t180.toml"));
    EXPECT_NE(wide.find("t180 has 4; possible: 1, 2, 4"), std::string::npos) << wide;
    EXPECT_NE(refusal<MachineError>(model, request(64, 4, 2), cluster("t180.toml")), "");
}

// Whole layers beside a share of them: 7.0e9 of the 8.03e9 weights are in layers, with 34 bytes per 32.
TEST(ReplicaPlan, KeepsWholeLayersToCutPromptsByTokens) {
    const SyntheticModel model("llama-3-8b", "q8_0");
    ReplicaRequest what = request(2048);
    const StageNeeds without = plan_replica(model, what, cluster("t180.toml")).stages.front();
    what.context_parallel = true;
    const ReplicaPlan plan = plan_replica(model, what, cluster("t180.toml"));
    EXPECT_EQ(plan.plan.teams.tensor, 4);
    EXPECT_EQ(plan.stages.front().weights, without.weights);
    EXPECT_NEAR(static_cast<double>(plan.stages.front().whole_layers), 6.98e9 / 32 * 34, 0.02e9);
    EXPECT_EQ(without.whole_layers, 0U);
    EXPECT_EQ(plan.rows_to_cut, 4 * 512);
    EXPECT_GE(plan.request.rows, plan.rows_to_cut);
    // 49 GB of layers: on 12 GPUs with 16 GB, six stages of two; on four, two stages of two have no room.
    const SyntheticModel large("llama-3-70b", "q5_k_m");
    const TeamPlan teams = plan_replica(large, what, cluster("t181_x3.toml")).plan.teams;
    EXPECT_EQ(teams.tensor, 2);
    EXPECT_EQ(teams.pipeline, 6);
    const std::string message = refusal<MachineError>(large, what, cluster("t180.toml"));
    EXPECT_NE(message.find("for whole layers"), std::string::npos) << message;
    EXPECT_NE(message.find("it would fit without --context-parallel on"), std::string::npos) << message;
    // Nothing to cut on one rank.
    what.tensor = 1;
    const ReplicaPlan one = plan_replica(model, what, cluster("t180.toml"));
    EXPECT_EQ(one.stages.front().whole_layers, 0U);
    EXPECT_NE(one.plan.warnings.back().find("no ranks share layers"), std::string::npos);
}

TEST(ReplicaPlan, KeepsNoWholeLayersForPassesTooShortToCut) {
    const SyntheticModel model("llama-3-8b", "q8_0");
    ReplicaRequest what = request(2048);
    what.context_parallel = true;
    what.device = DeviceChoice::Cpu;
    const ReplicaPlan cores = plan_replica(model, what, cluster("t180.toml"));
    EXPECT_EQ(cores.rows_to_cut, 4 * 128);
    EXPECT_GE(cores.request.rows, cores.rows_to_cut);
    const auto expect_none = [&](const char* why) {
        const ReplicaPlan plan = plan_replica(model, what, cluster("t180.toml"));
        EXPECT_EQ(plan.rows_to_cut, 0);
        EXPECT_EQ(plan.stages.front().whole_layers, 0U);
        EXPECT_EQ(plan.plan.warnings.back(),
                  fmt::format("prompts are not cut by tokens: 4 ranks need passes of "
                              "512 tokens, but {}",
                              why));
    };
    what.rows = 511;
    expect_none("the limit for a pass is 511");
    what.context = 500;
    what.rows = 2048;
    expect_none("all sequences together have at most 500");
    what.rows = 0;
    expect_none("all sequences together have at most 500");
    what.context = 512;
    EXPECT_EQ(plan_replica(model, what, cluster("t180.toml")).rows_to_cut, 512);
    what.sequences = 4;
    what.cache_tokens = 400;
    expect_none("all sequences together have at most 400");
}

// Three ranks: one replica of two is better than three that cut nothing.
TEST(ReplicaPlan, PrefersReplicasThatCutPrompts) {
    const SyntheticModel model("llama-3-8b", "q8_0");
    ReplicaRequest what = request(2048);
    what.context_parallel = true;
    what.replicas = 0;
    EXPECT_EQ(plan_replica(model, what, cluster("t180.toml", 3)).plan.teams.tensor, 2);
    what.context = 500;  // too short to cut
    EXPECT_EQ(plan_replica(model, what, cluster("t180.toml", 3)).plan.teams.tensor, 1);
    what.context_parallel = false;
    EXPECT_EQ(plan_replica(model, what, cluster("t180.toml", 3)).plan.teams.tensor, 1);
}

TEST(ReplicaPlan, RefusesToCutPromptsWhereRowsMayNotDependOnPasses) {
    ReplicaRequest what = request(2048);
    what.context_parallel = what.batch_invariant = true;
    EXPECT_NE(refusal<JobError>(SyntheticModel("llama-3-8b", "q8_0"), what, cluster("t180.toml"))
                  .find("does not go with --batch-invariant on"),
              std::string::npos);
    what.batch_invariant = false;
    what.experts_on_host = 10;
    EXPECT_NE(refusal<JobError>(SyntheticModel("qwen-3-30b-a3b", "q8_0"), what, cluster("t180.toml"))
                  .find("does not work with experts in host memory"),
              std::string::npos);
    what.experts_on_host = -1;  // none, even where the model does not fit without
    EXPECT_NE(refusal<MachineError>(SyntheticModel("gpt-oss-120b", "mxfp4_moe"), what, cluster("t180.toml"))
                  .find("the model does not fit"),
              std::string::npos);
}

TEST(ReplicaPlan, ShrinksTheCacheToFit) {
    const SyntheticModel large("llama-3-70b", "q5_k_m");
    ReplicaRequest what = request(4096);
    what.sequences = 64;
    EXPECT_NE(refusal<MachineError>(large, what, cluster("t180.toml")), "");
    what.shrinks = true;  // 0.7 GB of 82 KB a token, as above
    const int pages = plan_replica(large, what, cluster("t180.toml")).pages;
    EXPECT_GT(pages, 4096 / kv_page_tokens);
    EXPECT_LT(pages, 9000 / kv_page_tokens);
    what.cache_tokens = 5000;
    EXPECT_EQ(plan_replica(large, what, cluster("t180.toml")).pages, 313);
    what.cache_tokens = 4992;
    EXPECT_EQ(plan_replica(large, what, cluster("t180.toml")).pages, 312);
    what.cache_tokens = std::numeric_limits<std::int64_t>::max();  // no limit: 64 sequences of 256 pages
    EXPECT_EQ(what.pages(), 64 * 4096 / kv_page_tokens);
    // With enough memory the cache has its full size.
    const SyntheticModel small("llama-3-8b", "q8_0");
    what.cache_tokens = 0;
    what.sequences = 4;
    EXPECT_EQ(plan_replica(small, what, cluster("t180.toml")).pages, 4 * 4096 / kv_page_tokens);
}

TEST(ReplicaPlan, SuggestsSettingsThatFit) {
    const SyntheticModel model("llama-3-70b", "q5_k_m");
    const std::string tokens = refusal<MachineError>(model, request(100'000), cluster("t180.toml"));
    EXPECT_NE(tokens.find("over 4 ranks (TP4 x PP1)"), std::string::npos) << tokens;
    EXPECT_NE(tokens.find("with a context of at most 8,"), std::string::npos) << tokens;  // 0.7 GB of 82 KB
    EXPECT_NE(tokens.find("or on 8 such GPUs"), std::string::npos) << tokens;
    const std::string weights =
        refusal<MachineError>(model, request(100), cluster("t180.toml", 1));  // one GPU: 49.9 GB
    EXPECT_EQ(weights.find("with a context"), std::string::npos) << weights;
    // 80 layers of some 620 MB: 24 fit in 15.0 GB, fewer with the embedding or the output head.
    EXPECT_NE(weights.find("on 4 such GPUs"), std::string::npos) << weights;
}

TEST(ReplicaPlan, ReportsThatNothingFits) {
    Topology topology = cluster("t180.toml", 1);
    for (Gpu& gpu : topology.hosts[0].gpus) gpu.memory_bytes = 100'000'000;  // CUDA's own need is more
    const std::string none = refusal<MachineError>(SyntheticModel("tiny", "q8_0"), request(64), topology);
    EXPECT_NE(none.find(" has none beside the working memory of a pass"), std::string::npos) << none;
}

TEST(ReplicaPlan, CpuRanksShareTheHostsMemory) {
    ReplicaRequest what = request(4096, 1, 1);
    what.device = DeviceChoice::Cpu;
    const SyntheticModel model("llama-3-70b", "f16");  // 141 GB; a t180 has 256
    EXPECT_EQ(plan_replica(model, what, cluster("t180.toml")).plan.teams.teams.size(), 1U);
    what.replicas = 2;
    EXPECT_NE(refusal<MachineError>(model, what, cluster("t180.toml")).find("its share of the host's memory"),
              std::string::npos);
}

// A t180 has two sockets.
TEST(ReplicaPlan, AdvisesARankForEachNumaNode) {
    ReplicaRequest what = request(1024);
    what.device = DeviceChoice::Cpu;
    const SyntheticModel model("llama-3-8b", "q8_0");
    const auto advice = [&](int ranks, int nodes_of_socket = 1) {
        Topology topology = cluster("t180.toml", ranks);
        auto& cores = topology.hosts[0].cores;
        for (std::size_t i = 0; i < cores.size(); ++i)
            cores[i].numa_node =
                static_cast<int>(i * 2 * static_cast<std::size_t>(nodes_of_socket) / cores.size());
        const Plan plan = plan_replica(model, what, topology).plan;
        return fmt::format("{}", fmt::join(plan.warnings, "\n"));
    };
    EXPECT_NE(advice(1).find("rank 0 computes on cores of 2 NUMA nodes"), std::string::npos);
    EXPECT_NE(advice(1).find("with 2 ranks on t180"), std::string::npos) << advice(1);
    EXPECT_EQ(advice(2).find("NUMA"), std::string::npos);
    EXPECT_NE(advice(3).find("rank 1 computes on cores of 2 NUMA nodes"), std::string::npos);
    EXPECT_NE(advice(2, 2).find("rank 0 computes on cores of 2 NUMA nodes"), std::string::npos);
    EXPECT_NE(advice(2, 2).find("with 4 ranks on t180"), std::string::npos);
    EXPECT_EQ(advice(4, 2).find("NUMA"), std::string::npos);
    what.device = DeviceChoice::Auto;
    EXPECT_EQ(advice(1).find("NUMA"), std::string::npos);
}

}  // namespace
}  // namespace voltpile::llm::replica_plan_test
