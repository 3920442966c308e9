// Which layers keep their experts in host memory, what that takes, and how fast it is.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "llm/model/lora/lora_adapter.h"
#include "llm/model/model_files.h"
#include "llm/model/model_text.h"
#include "llm/model/synthetic_model.h"
#include "llm/replica/experts_on_host.h"
#include "llm/replica/replica_pace.h"
#include "plan/cluster_file.h"

namespace voltpile::llm::experts_on_host_test {
namespace {

Topology cluster(const char* name, int ranks_per_host = 0) {
    return load_cluster(std::string(VOLTPILE_SOURCE_DIR "/data/clusters/") + name, ranks_per_host);
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

ReplicaRequest request(int experts_on_host = -1) {
    ReplicaRequest out;
    out.context = 4096;
    out.experts_on_host = experts_on_host;
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

// A model with another format of its experts, for plans.
class ChangedModel final : public ModelSource {
  public:
    ChangedModel(const ModelSource& like, WeightFormat of_experts)
        : ModelSource(like.config(), changed(like.tensors(), of_experts)) {}
    void read(const ModelTensor&, const TensorSlice&, std::byte*) const override {}
    std::string fingerprint() const override { return ""; }

  private:
    static std::vector<ModelTensor> changed(std::vector<ModelTensor> tensors, WeightFormat of_experts) {
        for (ModelTensor& tensor : tensors)
            if (tensor.expert >= 0 && tensor.rows > 1) tensor.format = of_experts;
        return tensors;
    }
};

TEST(ExpertsOnHost, AreThoseOfTheLastLayers) {
    const ModelConfig glm = SyntheticModel("glm-4.5-air", "q4_k_m").config();  // the first layer is dense
    const auto layers = static_cast<int>(glm.layers);
    EXPECT_EQ(layers_with_experts(glm), layers - 1);
    EXPECT_EQ(first_layer_on_host(glm, 0), layers);
    EXPECT_EQ(first_layer_on_host(glm, 1), layers - 1);
    EXPECT_EQ(first_layer_on_host(glm, layers - 1), 1);
    // Dense layers in between do not count.
    const ModelConfig qwen = ModelFiles(VOLTPILE_SOURCE_DIR "/data/llm/goldens/qwen3_moe_dense").config();
    ASSERT_EQ(layers_with_experts(qwen), std::ranges::count(qwen.layer_dense, false));
    const int all = first_layer_on_host(qwen, layers_with_experts(qwen));
    EXPECT_TRUE(has_experts(qwen, all));
    for (int layer = 0; layer < all; ++layer) EXPECT_FALSE(has_experts(qwen, layer));
    const ModelConfig dense = SyntheticModel("tiny", "q8_0").config();
    EXPECT_EQ(layers_with_experts(dense), 0);
    EXPECT_EQ(first_layer_on_host(dense, 0), dense.layers);
}

// 36 layers of 128 experts of 3 x 2880 x 2880 weights, 17 bytes for each 32.
TEST(ExpertsOnHost, LeaveTheMemoryOfGpus) {
    const SyntheticModel model("gpt-oss-120b", "mxfp4_moe");
    constexpr std::uint64_t layer = 128ULL * 3 * 2880 * 2880 / 32 * 17;
    const double one[] = {1};
    const auto all = cut_into_stages(model, WeightLayout::Gpu, 1, one);
    const auto cut = cut_into_stages(model, WeightLayout::Gpu, 1, one, KvElement::F16, 10);
    EXPECT_EQ(all[0].host_layers, 0);
    EXPECT_EQ(all[0].host_experts, 0U);
    EXPECT_EQ(cut[0].host_layers, 10);
    EXPECT_EQ(cut[0].host_experts, 10 * layer);
    EXPECT_EQ(cut[0].host_weights, 10 * layer / 17 * 32);
    EXPECT_EQ(cut[0].host_experts_sent, 10 * layer);
    EXPECT_EQ(all[0].experts - cut[0].experts, all[0].experts / 36 * 10);
    EXPECT_EQ(all[0].weights - cut[0].weights, all[0].experts - cut[0].experts);
    EXPECT_EQ(all[0].stored, cut[0].stored);
    // Stages are cut by what is left on the GPUs: the last one gets more layers.
    const double two[] = {1, 1};
    const auto stages = cut_into_stages(model, WeightLayout::Gpu, 1, two, KvElement::F16, 10);
    EXPECT_EQ(stages[0].host_layers, 0);
    EXPECT_EQ(stages[1].host_layers, 10);
    EXPECT_GT(stages[1].layer_end - stages[1].layer_begin, 20);
    // A rank of four has a quarter of each expert, but for the rounding to blocks of 32.
    const auto quarter = cut_into_stages(model, WeightLayout::Gpu, 4, one, KvElement::F16, 10);
    EXPECT_NEAR(static_cast<double>(quarter[0].host_experts), 10 * layer / 4.0, 0.03 * 10 * layer / 4.0);
}

TEST(ExpertsOnHost, PlansTakeAsFewLayersAsFit) {
    const SyntheticModel model("gpt-oss-120b", "mxfp4_moe");
    const Topology t180 = cluster("t180.toml");
    const ReplicaPlan plan = plan_replica(model, request(), t180);
    EXPECT_EQ(plan.plan.teams.tensor, 4);
    EXPECT_EQ(plan.plan.teams.pipeline, 1);
    ASSERT_GT(plan.experts_on_host, 0);
    EXPECT_LT(plan.experts_on_host, 36);
    EXPECT_EQ(plan.stages[0].host_layers, plan.experts_on_host);
    for (const RankPlan& rank : plan.plan.ranks) {
        EXPECT_LE(rank.gpu_memory_bytes, 16'000'000'000);
        EXPECT_GT(rank.memory_bytes, static_cast<std::int64_t>(plan.stages[0].host_experts));
    }
    ReplicaRequest short_passes = request();  // too short to stream experts
    short_passes.rows = 512;
    short_passes.tensor = 4;
    short_passes.pipeline = 1;
    const int fewest = plan_replica(model, short_passes, t180).experts_on_host;
    EXPECT_LE(fewest, plan.experts_on_host);
    short_passes.experts_on_host = fewest - 1;
    EXPECT_NE(refusal<MachineError>(model, short_passes, t180), "");
    EXPECT_EQ(plan_replica(model, request(plan.experts_on_host), t180).experts_on_host, plan.experts_on_host);
    EXPECT_EQ(plan_replica(model, request(30), t180).experts_on_host, 30);
    // A model that fits keeps all its experts on the GPU.
    EXPECT_EQ(plan_replica(model, request(), cluster("h200_x8.toml")).experts_on_host, 0);
    EXPECT_EQ(plan_replica(model, request(), cluster("t180_x3.toml")).experts_on_host, 0);
    // A larger cache needs more room.
    ReplicaRequest large = request();
    large.context = 100'000;
    EXPECT_GT(plan_replica(model, large, t180).experts_on_host, plan.experts_on_host);
    large.cache = KvElement::I8;
    EXPECT_LT(plan_replica(model, large, t180).experts_on_host, 36);
}

TEST(ExpertsOnHost, DescribesThem) {
    const SyntheticModel model("gpt-oss-120b", "mxfp4_moe");
    const ReplicaPlan plan = plan_replica(model, request(12), cluster("t180.toml"));
    const auto has = [](const std::vector<std::string>& lines, const std::string& text) {
        return std::ranges::any_of(lines, [&](const std::string& line) { return contains(line, text); });
    };
    EXPECT_TRUE(
        has(plan.plan.notes, "the experts of the last 12 of 36 layers with experts stay in host memory"));
    EXPECT_TRUE(has(plan.plan.formulas, "host memory of stage 0 = "));
    EXPECT_TRUE(has(plan.plan.formulas, "reading all experts in host memory of stage 0 = "));
    const std::string table = needs_text(model);
    EXPECT_TRUE(contains(table, " on host, ")) << table;
    EXPECT_TRUE(contains(table, "--experts-on-host")) << table;
    const std::string dense = needs_text(SyntheticModel("llama-3-70b", "q5_k_m"));
    EXPECT_FALSE(contains(dense, "on host")) << dense;
}

TEST(ExpertsOnHost, RefusesWhatCannotBe) {
    const SyntheticModel model("gpt-oss-120b", "mxfp4_moe"), dense("llama-3-8b", "q8_0");
    Topology t180 = cluster("t180.toml");
    EXPECT_EQ(refusal<JobError>(model, request(37), t180),
              "--experts-on-host 37: the model has experts in 36 layers, so at most 36");
    EXPECT_EQ(refusal<JobError>(dense, request(1), t180), "--experts-on-host 1: the model has no experts");
    EXPECT_EQ(plan_replica(dense, request(0), t180).experts_on_host, 0);
    EXPECT_EQ(plan_replica(dense, request(), t180).experts_on_host, 0);
    t180.hosts.front().memory_bytes = 8'000'000'000;
    const std::string explicitly = refusal<MachineError>(model, request(20), t180);
    EXPECT_TRUE(contains(explicitly, "the experts of 20 layers in host memory take ")) << explicitly;
    const std::string automatic = refusal<MachineError>(model, request(), t180);
    EXPECT_TRUE(contains(automatic, "; with experts in host memory it would, but the experts of "))
        << automatic;
    for (Gpu& gpu : t180.hosts.front().gpus) gpu.memory_bytes = 3'000'000'000;
    const std::string never = refusal<MachineError>(model, request(), t180);
    EXPECT_TRUE(contains(never, "nor would it fit with all experts in host memory")) << never;
}

TEST(ExpertsOnHost, ChangesNothingOnCores) {
    ReplicaRequest what = request(20);
    what.device = DeviceChoice::Cpu;
    const ReplicaPlan plan =
        plan_replica(SyntheticModel("gpt-oss-120b", "mxfp4_moe"), what, cluster("t180.toml"));
    EXPECT_EQ(plan.experts_on_host, 0);
    EXPECT_EQ(plan.stages[0].host_layers, 0);
}

// A step reads the share of the experts that its tokens use from host memory, at the bandwidth of the cores.
TEST(ExpertsOnHost, StepsReadTheExpertsThatTheirTokensUse) {
    const SyntheticModel model("gpt-oss-120b", "mxfp4_moe");
    const WeightBytes weights = weight_bytes(model);
    const Topology t180 = cluster("t180.toml");
    const auto pace_with = [&](int on_host) {
        return estimate_pace(plan_replica(model, request(on_host), t180), weights);
    };
    const ReplicaPlan plan = plan_replica(model, request(16), t180);
    const StagePace few = pace_with(16).stages.front(), many = pace_with(32).stages.front();
    const double bytes = static_cast<double>(plan.stages[0].host_experts);
    // Six of seven cores a rank: a quarter of 153.6 GB/s, of which 66 % are reached.
    EXPECT_NEAR(few.host_experts_s, bytes / (153.6e9 * 0.66 * 6 / 28), 1e-6 * few.host_experts_s);
    EXPECT_NEAR(many.host_experts_s, 2 * few.host_experts_s, 1e-9);
    EXPECT_LT(many.experts_s, few.experts_s);
    EXPECT_GT(many.fixed_s, few.fixed_s);
    EXPECT_GT(many.each_s, few.each_s);
    const double used = 4.0 / 128;
    EXPECT_NEAR(few.with(1), few.fixed_s + (few.experts_s + few.host_experts_s) * used + few.each_s, 1e-12);
    EXPECT_LT(pace_with(32).one_sequence, pace_with(16).one_sequence);
    EXPECT_LT(pace_with(32).prompt, pace_with(16).prompt);
}

// Four GPUs share a PCIe 3.0 x16 link to the processors: a layer's experts take longer to copy than hundreds
// of rows to compute, but not thousands.
TEST(ExpertsOnHost, LongPassesCopyThemToTheGpus) {
    const SyntheticModel model("gpt-oss-120b", "mxfp4_moe");
    const WeightBytes weights = weight_bytes(model);
    const Topology t180 = cluster("t180.toml");
    const ReplicaPlan plan = plan_replica(model, request(12), t180);
    EXPECT_GT(plan.streamed_rows, 256);
    EXPECT_LT(plan.streamed_rows, 4096);
    EXPECT_GE(plan.request.rows, plan.streamed_rows);
    EXPECT_EQ(plan.streamed_rows, rows_to_stream(plan, weights));
    // The room for a layer's experts, and the time of a pass.
    const StageNeeds& stage = plan.stages.front();
    EXPECT_GT(stage.largest_host_layer, stage.host_experts / 12);
    EXPECT_EQ(plan.kept_bytes(stage) - stage.weights -
                  stage.kv_per_token * static_cast<std::uint64_t>(plan.pages) * kv_page_tokens,
              stage.largest_host_layer);
    ReplicaRequest by_cores = request(12);
    by_cores.rows = plan.streamed_rows - 1;
    const ReplicaPlan short_passes = plan_replica(model, by_cores, t180);
    EXPECT_EQ(short_passes.streamed_rows, 0);
    EXPECT_GT(estimate_pace(plan, weights).prompt, estimate_pace(short_passes, weights).prompt);
    // Not where a row must not depend on others, nor where all experts take too long for one pass.
    by_cores.rows = 4096;
    by_cores.batch_invariant = true;
    EXPECT_EQ(plan_replica(model, by_cores, t180).streamed_rows, 0);
    EXPECT_EQ(rows_to_stream(plan_replica(model, request(36), t180), weights), 0);
}

// Cores compute the passes of rows that may have adapters, so these get no more rows than usual.
TEST(ExpertsOnHost, StayThereWithAdaptersOfExperts) {
    const Topology t180 = cluster("t180.toml");
    SyntheticModel model("gpt-oss-120b", "mxfp4_moe");
    const ReplicaPlan alone = plan_replica(model, request(12), t180);
    EXPECT_GT(alone.streamed_rows, 0);
    model.attach({LoraAdapter::random("a", model, 2)});
    const ReplicaPlan adapted = plan_replica(model, request(12), t180);
    EXPECT_EQ(adapted.experts_on_host, 12);
    EXPECT_EQ(adapted.streamed_rows, 0);
    EXPECT_LT(adapted.request.rows, alone.request.rows);
    EXPECT_EQ(adapted.stages.front().stored, alone.stages.front().stored);
}

// Cores convert Q4_1 to F16 and Q5_0 to Q8_0 before the copy; the GPU converts BF16 itself.
TEST(ExpertsOnHost, CopiesTakeTheBytesThatAreSent) {
    const SyntheticModel model("gpt-oss-120b", "mxfp4_moe");
    const double one[] = {1};
    const auto sent_of_stored = [&](WeightFormat format) {
        const StageNeeds needs =
            cut_into_stages(ChangedModel(model, format), WeightLayout::Gpu, 1, one, KvElement::F16, 10)[0];
        return static_cast<double>(needs.host_experts_sent) / static_cast<double>(needs.host_experts);
    };
    EXPECT_NEAR(sent_of_stored(WeightFormat::Q4_1), 24.0 / 20, 1e-9);
    EXPECT_NEAR(sent_of_stored(WeightFormat::Q5_0), 34.0 / 22, 1e-9);
    EXPECT_NEAR(sent_of_stored(WeightFormat::Q8_0), 1, 1e-9);
    EXPECT_NEAR(sent_of_stored(WeightFormat::BF16), 1, 1e-9);
    // The bound of a pass's copies holds for these bytes.
    const ChangedModel q5_0(model, WeightFormat::Q5_0);
    const WeightBytes weights = weight_bytes(q5_0);
    Topology t180 = cluster("t180.toml");
    for (Gpu& gpu : t180.hosts.front().gpus) gpu.memory_bytes = 80'000'000'000;
    ReplicaRequest what = request(6);
    const ReplicaPlan few = plan_replica(q5_0, what, t180);
    EXPECT_GT(rows_to_stream(few, weights), 0);
    EXPECT_TRUE(std::ranges::any_of(estimate_pace(few, weights).formulas, [&](const std::string& line) {
        return contains(line,
                        " copy the experts in host memory of stage 0 to the GPU: " +
                            fmt::format("{:.4g} B / ", static_cast<double>(few.stages[0].host_experts_sent)));
    }));
    what.experts_on_host = 18;  // within the bound, if they traveled as they are in the file
    EXPECT_EQ(rows_to_stream(plan_replica(q5_0, what, t180), weights), 0);
}

// Longer passes, which copies of experts pay for, take more host memory.
TEST(ExpertsOnHost, PlansLeaveOutCopiesThatHostMemoryHasNoRoomFor) {
    const SyntheticModel model("gpt-oss-120b", "mxfp4_moe");
    Topology t180 = cluster("t180.toml");
    ReplicaPlan plan = plan_replica(model, request(), t180);
    ASSERT_GT(plan.streamed_rows, 0);
    for (int less = 0; less < 8 && plan.streamed_rows > 0; ++less) {
        std::int64_t used = 0;
        for (const RankPlan& rank : plan.plan.ranks) used += rank.memory_bytes;
        t180.hosts.front().memory_bytes = used - 1;
        ASSERT_NO_THROW(plan = plan_replica(model, request(), t180)) << less;
    }
    EXPECT_EQ(plan.streamed_rows, 0);
    EXPECT_GT(plan.experts_on_host, 0);
}

// With little memory on the GPUs, the copies of the layers on the host take too long for a pass, and with
// fewer layers there, GPUs have no room for copies.
TEST(ExpertsOnHost, PlansWithoutCopiesTakeAsFewLayersAsFit) {
    const SyntheticModel model("gpt-oss-120b", "mxfp4_moe");
    Topology t180 = cluster("t180.toml");
    ReplicaRequest what = request();
    what.tensor = 4;
    what.pipeline = 1;
    int with_copies = 0, without = 0;
    for (std::int64_t megabytes = 12'000; megabytes >= 5'000; megabytes -= 250) {
        for (Gpu& gpu : t180.hosts.front().gpus) gpu.memory_bytes = megabytes * 1'000'000;
        what.batch_invariant = false;
        const ReplicaPlan plan = plan_replica(model, what, t180);
        ++(plan.streamed_rows > 0 ? with_copies : without);
        what.batch_invariant = true;  // without copies
        const int fewest = plan_replica(model, what, t180).experts_on_host;
        if (plan.streamed_rows == 0)
            EXPECT_EQ(plan.experts_on_host, fewest) << megabytes;
        else
            EXPECT_GE(plan.experts_on_host, fewest) << megabytes;
    }
    EXPECT_GT(with_copies, 0);
    EXPECT_GT(without, 0);
}

TEST(ExpertsOnHost, RanksShareTheFreeCoresThatTheyMayUse) {
    const SyntheticModel model("gpt-oss-120b", "mxfp4_moe");
    Plan plan = plan_replica(model, request(12), cluster("t180.toml")).plan;
    ASSERT_EQ(plan.ranks.size(), 4U);
    ASSERT_EQ(plan.topology.hosts.front().cores.size(), 28U);
    const auto block = [](int begin, int end) {
        std::vector<int> cores;
        for (int core = begin; core < end; ++core) cores.push_back(core);
        return cores;
    };
    // Ranks are bound to separate cores, in the opposite order.
    for (int r = 0; r < 4; ++r) {
        const int first = 7 * (3 - r);
        plan.topology.ranks[static_cast<std::size_t>(r)].allowed_cores = block(first, first + 7);
        plan.ranks[static_cast<std::size_t>(r)].cores = {first};
    }
    for (int r = 0; r < 4; ++r)
        EXPECT_EQ(expert_cores(plan, r), block(7 * (3 - r) + 1, 7 * (3 - r) + 7)) << r;
    // Two ranks share half of the host, the others the other half.
    for (int r = 0; r < 4; ++r)
        plan.topology.ranks[static_cast<std::size_t>(r)].allowed_cores = r < 2 ? block(14, 28) : block(0, 14);
    std::vector<int> all;
    for (int r = 0; r < 4; ++r) {
        const std::vector<int> cores = expert_cores(plan, r);
        EXPECT_EQ(cores.size(), 6U) << r;
        for (const int core : cores) EXPECT_EQ(core >= 14, r < 2) << r;
        all.insert(all.end(), cores.begin(), cores.end());
    }
    std::ranges::sort(all);
    EXPECT_TRUE(std::ranges::adjacent_find(all) == all.end());
}

TEST(ExpertsOnHost, NeedsAnEvenHiddenSize) {
    ModelConfig config = SyntheticModel("gpt-oss-120b", "mxfp4_moe").config();
    EXPECT_EQ(most_experts_on_host(config), 36);
    config.hidden = 2881;
    EXPECT_EQ(most_experts_on_host(config), 0);
    EXPECT_NO_THROW(check_experts_on_host(config, request()));
    EXPECT_NO_THROW(check_experts_on_host(config, request(0)));
    try {
        check_experts_on_host(config, request(3));
        FAIL();
    } catch (const JobError& error) {
        EXPECT_TRUE(contains(error.what(), "--experts-on-host 3: the hidden size 2881 is odd"))
            << error.what();
    }
}

}  // namespace
}  // namespace voltpile::llm::experts_on_host_test
