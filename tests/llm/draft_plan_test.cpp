// Plans for a model and its draft model, prediction layer or EAGLE 3 head, on described machines. The GPUs of
// a t180 have 16 GB.
#include "llm/replica/draft_plan.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "llm/cycle_models.h"
#include "llm/model/model_files.h"
#include "llm/model/synthetic_model.h"
#include "plan/cluster_file.h"

namespace voltpile::llm::draft_plan_test {
namespace {

Topology cluster(const char* name, int ranks_per_host = 0) {
    return load_cluster(std::string(VOLTPILE_SOURCE_DIR "/data/clusters/") + name, ranks_per_host);
}

ReplicaRequest request_with(const ModelSource& draft, int sequences = 1) {
    ReplicaRequest request;
    request.context = 2048;
    request.sequences = request.logits = sequences;
    request.speculate = Speculate::Draft;
    request.draft = &draft;
    return request;
}

TEST(DraftPlan, CutsBothModelsAlike) {
    const SyntheticModel model("llama-3-8b", "q8_0"), draft("llama-3.2-1b", "q8_0");
    const ReplicaPlan plan = plan_replica(model, request_with(draft), cluster("t180.toml"));
    ASSERT_TRUE(plan.draft);
    EXPECT_EQ(plan.plan.teams.tensor, 4);
    EXPECT_EQ(plan.draft->plan.teams.places, plan.plan.teams.places);
    EXPECT_EQ(plan.draft->pages, plan.pages);
    EXPECT_EQ(plan.request.taken, plan.draft->takes);
    EXPECT_EQ(plan.request.draft, &draft);
    EXPECT_EQ(plan.draft->request.draft, nullptr);
    // Both are in the memory that the plan reports, which has CUDA's context once.
    const auto both = static_cast<double>(plan.takes[0] + plan.draft->takes[0]) + cuda_bytes_of_gpu;
    EXPECT_NEAR(static_cast<double>(plan.plan.ranks[0].gpu_memory_bytes), both, 1);
}

// The model takes the room that the draft leaves, and both caches hold about as many tokens.
TEST(DraftPlan, SharesScarceMemory) {
    const SyntheticModel model("llama-3-8b", "q8_0"), draft("llama-3.2-1b", "q8_0");
    ReplicaRequest request = request_with(draft, 64);
    request.context = 8192;
    request.shrinks = true;
    const Topology one = cluster("t180.toml", 1);
    const ReplicaPlan plan = plan_replica(model, request, one);
    EXPECT_LT(plan.pages, request.pages());
    EXPECT_GE(plan.pages, request.pages_per_sequence());
    EXPECT_NEAR(plan.draft->pages, plan.pages, 0.12 * plan.pages);
    request.draft = nullptr;
    EXPECT_GT(plan_replica(model, request, one).pages, plan.pages);
}

TEST(DraftPlan, LimitsTheDraftToItsOwnContext) {
    const SyntheticModel model("llama-3-8b", "q4_0"), draft("tiny", "q8_0");
    ReplicaRequest request = request_with(draft);
    request.context = 4096;
    const ReplicaPlan plan = plan_replica(model, request, cluster("t180.toml", 1));
    EXPECT_EQ(plan.request.context, 4096);
    EXPECT_EQ(plan.draft->request.context, 2048);
}

// "tiny" has four heads of attention and four layers.
TEST(DraftPlan, FindsACutForBothOrSaysWhichSuits) {
    const SyntheticModel model("llama-3-8b", "q4_0"), draft("tiny", "q8_0");
    ReplicaRequest request = request_with(draft);
    request.tensor = 8;
    const Topology host = cluster("h200_x8.toml");
    try {
        plan_replica(model, request, host);
        FAIL();
    } catch (const JobError& error) {
        const std::string text = error.what();
        EXPECT_EQ(text.find("the draft model: tensor parallelism over 8 ranks: "), 0U) << text;
        EXPECT_NE(text.find("; --tensor 4 suits both models"), std::string::npos) << text;
    }
    request.tensor = 0;
    const ReplicaPlan plan = plan_replica(model, request, host);
    EXPECT_EQ(plan.plan.teams.tensor, 4);
    EXPECT_EQ(plan.draft->plan.teams.tensor, 4);
    request.pipeline = 5;
    request.tensor = 1;
    EXPECT_THROW(plan_replica(model, request, host), JobError);
}

TEST(DraftPlan, ReportsThatBothDoNotFit) {
    const SyntheticModel model("llama-3-8b", "q8_0");
    try {
        plan_replica(model, request_with(model), cluster("t180.toml", 1));
        FAIL();
    } catch (const MachineError& error) {
        const std::string text = error.what();
        EXPECT_EQ(text.find("with the draft model in memory, the model does not fit"), 0U) << text;
    }
}

// ---- a draft model on ranks of its own

TEST(DraftPlan, GivesTheLastRanksToTheDraft) {
    const SyntheticModel model("llama-3-8b", "q8_0"), draft("llama-3.2-1b", "q8_0");
    ReplicaRequest request = request_with(draft);
    request.draft_ranks = 2;
    request.replicas = 0;
    const ReplicaPlan plan = plan_replica(model, request, cluster("t180.toml"));
    ASSERT_TRUE(plan.draft);
    const std::vector<TeamPlace> model_places{{0, 0, 0}, {0, 0, 1}, {-1, -1, -1}, {-1, -1, -1}};
    const std::vector<TeamPlace> draft_places{{-1, -1, -1}, {-1, -1, -1}, {0, 0, 0}, {0, 0, 1}};
    EXPECT_EQ(plan.plan.teams.places, model_places);
    EXPECT_EQ(plan.draft->plan.teams.places, draft_places);
    EXPECT_EQ(plan.plan.teams.helpers, (std::vector{2, 3}));
    EXPECT_EQ(plan.plan.teams.replica_of(3), 0);
    EXPECT_TRUE(plan.plan.teams.notes.empty());  // nobody is idle
    EXPECT_GE(plan.draft->pages, plan.pages);
    for (const std::size_t rank : {0U, 2U}) {
        const ReplicaPlan& mine = rank == 0 ? plan : *plan.draft;
        EXPECT_NEAR(static_cast<double>(plan.plan.ranks[rank].gpu_memory_bytes),
                    static_cast<double>(mine.takes[0]) + cuda_bytes_of_gpu, 1);
    }
}

// Both need 8 GB of weights: together they do not fit into 16 GB (ReportsThatBothDoNotFit).
TEST(DraftPlan, HasRoomForBothOnTwoGpus) {
    const SyntheticModel model("llama-3-8b", "q8_0");
    ReplicaRequest request = request_with(model);
    request.draft_ranks = 1;
    const ReplicaPlan plan = plan_replica(model, request, cluster("t180.toml", 2));
    EXPECT_EQ(plan.plan.teams.tensor * plan.plan.teams.pipeline, 1);
    EXPECT_EQ(plan.draft->plan.teams.teams.front().stages.front(), std::vector{1});
}

// On cores: the draft of 1.3 GB leaves the rest of the host to the model, which takes more than half.
TEST(DraftPlan, SharesTheMemoryOfAHostAsNeeded) {
    const SyntheticModel model("llama-3-70b", "q8_0"), draft("llama-3.2-1b", "q8_0");
    ReplicaRequest request = request_with(draft);
    request.device = DeviceChoice::Cpu;
    request.draft_ranks = 1;
    Topology host = cluster("t180.toml", 2);
    constexpr std::int64_t gigabyte = 1'000'000'000;
    host.hosts.front().memory_bytes = 96 * gigabyte;
    const ReplicaPlan plan = plan_replica(model, request, host);
    std::int64_t sum = 0;
    for (const RankPlan& rank : plan.plan.ranks) sum += rank.memory_bytes;
    EXPECT_GT(plan.plan.ranks[0].memory_bytes, 48 * gigabyte);
    EXPECT_LT(sum, 96 * gigabyte);
    host.hosts.front().memory_bytes = 78 * gigabyte;  // enough for the model alone
    request.tensor = request.pipeline = 1;
    EXPECT_THROW(plan_replica(model, request, host), MachineError);
    request.draft_ranks = 0;
    request.draft = nullptr;
    request.speculate = Speculate::Off;
    EXPECT_NO_THROW(plan_replica(model, request, host));
}

// The fifth rank of a host with four GPUs computes the draft on cores.
TEST(DraftPlan, PutsADraftOnTheCoresBesideTheGpus) {
    const SyntheticModel model("llama-3-8b", "q8_0"), draft("llama-3.2-1b", "q8_0");
    ReplicaRequest request = request_with(draft);
    request.draft_ranks = 1;
    const ReplicaPlan plan = plan_replica(model, request, cluster("t180.toml", 5));
    EXPECT_EQ(plan.plan.teams.tensor, 4);
    EXPECT_EQ(plan.plan.teams.helpers, std::vector{4});
    EXPECT_EQ(plan.plan.ranks[4].gpu, -1);
    EXPECT_GE(plan.plan.ranks[4].memory_bytes, static_cast<std::int64_t>(plan.draft->takes[0]));
    EXPECT_EQ(plan.plan.ranks[4].gpu_memory_bytes, 0);
    EXPECT_EQ(plan.draft->plan.teams.teams.front().stages.front(), std::vector{4});
}

// A cut of the model says nothing about that of its draft: "tiny" has four heads.
TEST(DraftPlan, CutsADraftOnItsOwnRanksAsSuitsIt) {
    const SyntheticModel model("llama-3-8b", "q4_0"), draft("tiny", "q8_0");
    ReplicaRequest request = request_with(draft);
    request.tensor = 4;
    request.draft_ranks = 3;
    const ReplicaPlan plan = plan_replica(model, request, cluster("h200_x8.toml"));
    EXPECT_EQ(plan.plan.teams.tensor, 4);
    EXPECT_EQ(plan.draft->plan.teams.tensor, 2);
    EXPECT_EQ(plan.plan.teams.helpers, (std::vector{5, 6}));
    EXPECT_EQ(plan.plan.teams.replica_of(7), -1);
}

TEST(DraftPlan, RefusesRanksForTheDraftThatLeaveNoneOrServeNobody) {
    const SyntheticModel model("llama-3-8b", "q8_0"), draft("llama-3.2-1b", "q8_0");
    const Topology host = cluster("t180.toml");
    const auto error_of = [&](const ReplicaRequest& request) -> std::string {
        try {
            plan_replica(model, request, host);
        } catch (const Error& error) {
            return error.what();
        }
        return "none";
    };
    ReplicaRequest request = request_with(draft);
    request.draft_ranks = 4;
    EXPECT_EQ(error_of(request), "--draft-ranks 4 of 4 ranks: none is left for the model");
    request.draft_ranks = 1;
    request.replicas = 2;
    EXPECT_EQ(error_of(request), "--draft-ranks 1 goes with one copy of the model, not with 2");
    request.replicas = 1;
    request.tensor = 4;
    EXPECT_NE(error_of(request).find("4"), std::string::npos);
    EXPECT_NE(error_of(request), "none");
    request.tensor = 0;
    request.speculate = Speculate::Eagle;
    EXPECT_EQ(error_of(request),
              "--draft-ranks 1: the EAGLE 3 head needs the model's hidden states, and shares its ranks");
}

// ---- prediction layers

class PredictionPlan : public testing::Test {
  protected:
    ReplicaRequest request(Speculate speculate) const {
        ReplicaRequest request;
        request.context = 256;
        request.sequences = request.logits = 4;
        request.replicas = 0;
        request.speculate = speculate;
        if (speculate == Speculate::Mtp) request.draft = layer_.get();
        return request;
    }
    static std::string error_of(const std::function<void()>& work) {
        try {
            work();
        } catch (const Error& error) {
            return error.what();
        }
        return "no error";
    }

    ModelFiles model_{VOLTPILE_SOURCE_DIR "/data/llm/goldens/glm4_moe_mtp"};
    std::unique_ptr<ModelSource> layer_ = model_.prediction_layers();
};

TEST_F(PredictionPlan, CountsHiddenRowsAndTheLayer) {
    const Topology topology = cluster("t180.toml", 1);
    const ReplicaPlan plan = plan_replica(model_, request(Speculate::Mtp), topology);
    const ReplicaPlan alone = plan_replica(model_, request(Speculate::Ngram), topology);
    ASSERT_TRUE(plan.draft);
    const auto hidden = static_cast<std::uint64_t>(model_.config().hidden);
    EXPECT_EQ(plan.stages[0].kv_per_token, alone.stages[0].kv_per_token + 2 * hidden);
    EXPECT_EQ(plan.stages[0].weights, alone.stages[0].weights);
    // Four sequences with eight guesses each.
    EXPECT_EQ(plan.draft->request.limits().logits, 4 + 4 * 8);
    const int rows = 512;
    EXPECT_EQ(plan.request.prediction_rows(), rows);
    EXPECT_EQ(plan.draft->request.rows, rows);
    EXPECT_EQ(plan.draft->request.prediction_rows(), 0);
    EXPECT_EQ(plan.working, alone.working + 2 * hidden * rows);
    EXPECT_EQ(plan.draft->stages[0].layer_end, 1);
    std::uint64_t stored = 0;  // without embedding and head, which are copies of the model's
    for (const ModelTensor& tensor : layer_->tensors()) stored += tensor.bytes();
    EXPECT_EQ(plan.draft->stages[0].stored, stored + 2 * 6 * hidden);  // the router's weights as fp32
    EXPECT_EQ(plan.draft->pages, plan.pages);
}

TEST_F(PredictionPlan, HasTheFewestPipelineStages) {
    const Topology host = cluster("t180.toml");
    ReplicaRequest wanted = request(Speculate::Mtp);
    const ReplicaPlan plan = plan_replica(model_, wanted, host);
    EXPECT_EQ(plan.plan.teams.pipeline, 1);
    EXPECT_EQ(plan.draft->plan.teams.places, plan.plan.teams.places);
    wanted.tensor = 2;
    EXPECT_EQ(plan_replica(model_, wanted, host).draft->plan.teams.tensor, 2);
    wanted.pipeline = 3;
    EXPECT_EQ(error_of([&] {
                  plan_replica(model_, wanted, host);
              }).find("3 pipeline stages: the model has 2 layers"),
              0U);
}

// The last of two stages has the layer, the hidden rows, and the embedding where the layer has none.
TEST_F(PredictionPlan, PutsTheLayerOnTheLastStage) {
    const Topology host = cluster("t180.toml");
    for (const int tensor : {1, 2}) {
        SCOPED_TRACE(tensor);
        ReplicaRequest wanted = request(Speculate::Mtp);
        wanted.tensor = tensor;
        wanted.pipeline = 1;
        const ReplicaPlan one = plan_replica(model_, wanted, host);
        wanted.pipeline = 2;
        const ReplicaPlan plan = plan_replica(model_, wanted, host);
        wanted.speculate = Speculate::Ngram;
        wanted.draft = nullptr;
        const ReplicaPlan alone = plan_replica(model_, wanted, host);
        ASSERT_TRUE(plan.draft);
        EXPECT_EQ(plan.draft->plan.teams.places, plan.plan.teams.places);

        const auto hidden = static_cast<std::uint64_t>(model_.config().hidden);
        const auto embedding = static_cast<std::uint64_t>(model_.config().vocab) * hidden * 2;  // in F16
        EXPECT_EQ(plan.stages[0].weights, alone.stages[0].weights);
        EXPECT_EQ(plan.stages[0].kv_per_token, alone.stages[0].kv_per_token);
        EXPECT_EQ(plan.stages[1].weights, alone.stages[1].weights + embedding);
        EXPECT_EQ(plan.stages[1].kv_per_token, alone.stages[1].kv_per_token + 2 * hidden);

        const auto& stages = plan.draft->stages;
        EXPECT_TRUE(stages[0].empty());
        EXPECT_EQ(stages[0].weights + stages[0].kv_per_token, 0U);
        EXPECT_EQ(stages[1].layer_end, 1);
        EXPECT_EQ(stages[1].weights, one.draft->stages[0].weights);
        EXPECT_EQ(stages[1].kv_per_token, one.draft->stages[0].kv_per_token);
        EXPECT_EQ(plan.request.taken, plan.draft->takes);
        const auto connections = static_cast<std::uint64_t>(tensor > 1 ? connection_bytes_of_gpu : 0);
        EXPECT_EQ(plan.draft->takes[0], connections);
        EXPECT_EQ(plan.draft->takes[1], one.draft->takes[0]);
        EXPECT_EQ(plan.draft->pages, plan.pages);
        for (const int stage : {0, 1}) {
            const auto at = static_cast<std::size_t>(stage);
            const auto rank = static_cast<std::size_t>(plan.plan.teams.teams[0].stages[at][0]);
            EXPECT_NEAR(static_cast<double>(plan.plan.ranks[rank].gpu_memory_bytes),
                        static_cast<double>(plan.takes[at] + plan.draft->takes[at]) + cuda_bytes_of_gpu, 1);
        }
    }
}

// The weights of a layer differ only where its tensors do.
TEST_F(PredictionPlan, CountsAllLayers) {
    const ModelFiles model(VOLTPILE_SOURCE_DIR "/data/llm/goldens/glm4_moe_two_mtp");
    const auto layers = model.prediction_layers();
    const Topology topology = cluster("t180.toml", 1);
    ReplicaRequest wanted = request(Speculate::Mtp);
    const ReplicaPlan one = plan_replica(model_, wanted, topology);
    wanted.draft = layers.get();
    const ReplicaPlan two = plan_replica(model, wanted, topology);
    EXPECT_EQ(two.draft->stages[0].layer_end, 2);
    EXPECT_EQ(two.draft->stages[0].weights, 2 * one.draft->stages[0].weights);
    EXPECT_EQ(two.draft->stages[0].kv_per_token, 2 * one.draft->stages[0].kv_per_token);
    EXPECT_EQ(two.working, one.working);
    EXPECT_EQ(two.stages[0].kv_per_token, one.stages[0].kv_per_token);
}

TEST_F(PredictionPlan, HasNoSecondEmbeddingBesideTheLayersOwn) {
    const test_files::TestFolder folder("mtp_own_embedding");
    const std::string golden = VOLTPILE_SOURCE_DIR "/data/llm/goldens/glm4_moe_mtp";
    folder.write("config.json", predicting::text_of(golden + "/config.json"));
    predicting::Weights weights(predicting::text_of(golden + "/model.safetensors"));
    weights.set("model.layers.2.embed_tokens.weight", [](int row, int column) { return row - column; });
    folder.write("model.safetensors", weights.bytes());
    const ModelFiles model(folder.path());
    const auto layer = model.prediction_layers();
    ASSERT_EQ(layer->config().prediction->own_embedding, std::vector{true});
    ReplicaRequest wanted = request(Speculate::Mtp);
    wanted.draft = layer.get();
    wanted.tensor = 1;
    wanted.pipeline = 2;
    const ReplicaPlan plan = plan_replica(model, wanted, cluster("t180.toml"));
    wanted.speculate = Speculate::Ngram;
    wanted.draft = nullptr;
    const ReplicaPlan alone = plan_replica(model, wanted, cluster("t180.toml"));
    EXPECT_EQ(plan.stages[1].weights, alone.stages[1].weights);
    EXPECT_GT(plan.draft->stages[1].weights, weight_bytes(model).embedding);
}

// ---- EAGLE 3 heads

TEST(EaglePlan, CountsStates) {
    const std::string folder = VOLTPILE_SOURCE_DIR "/data/llm/goldens/eagle3";
    const ModelFiles model(folder);
    const auto head = ModelFiles::eagle_head(folder + "/head", model.config());
    ReplicaRequest request = request_with(*head, 4);
    request.context = 256;
    request.speculate = Speculate::Eagle;
    request.read_layers = eagle_head_of(head->config())->layers;
    const Topology topology = cluster("t180.toml", 1);
    const ReplicaPlan plan = plan_replica(model, request, topology);
    ReplicaRequest without = request;
    without.draft = nullptr;
    without.speculate = Speculate::Ngram;
    without.read_layers.clear();
    const ReplicaPlan alone = plan_replica(model, without, topology);
    ASSERT_TRUE(plan.draft);
    const auto hidden = static_cast<std::uint64_t>(model.config().hidden);
    EXPECT_EQ(plan.stages[0].kv_per_token, alone.stages[0].kv_per_token + 2 * hidden);
    EXPECT_EQ(plan.stages[0].weights, alone.stages[0].weights);
    // A row of a pass has three states and what fc makes of them; the last pass of the head has rows too.
    EXPECT_EQ(plan.request.rows, alone.request.rows);
    const auto rows = static_cast<std::uint64_t>(4 * plan.request.rows + plan.request.prediction_rows());
    EXPECT_EQ(plan.working, alone.working + 2 * hidden * rows);
    EXPECT_EQ(plan.draft->request.prediction_rows(), 0);
    EXPECT_TRUE(plan.draft->request.read_layers.empty());

    // With two stages, the last one has the head, the joined states and the embedding. Both have room for the
    // states of a pass, and twice on their way to the next stage.
    request.tensor = without.tensor = 1;
    request.pipeline = without.pipeline = 2;
    const ReplicaPlan two = plan_replica(model, request, cluster("t180.toml"));
    const ReplicaPlan two_alone = plan_replica(model, without, cluster("t180.toml"));
    ASSERT_TRUE(two.draft);
    EXPECT_TRUE(two.draft->stages[0].empty());
    EXPECT_EQ(two.draft->stages[1].weights, plan.draft->stages[0].weights);
    // The embedding may move a layer to the first stage.
    EXPECT_EQ(two.stages[0].kv_per_token + two.stages[1].kv_per_token,
              two_alone.stages[0].kv_per_token + two_alone.stages[1].kv_per_token + 2 * hidden);
    EXPECT_EQ(two.stages[0].weights + two.stages[1].weights,
              two_alone.stages[0].weights + two_alone.stages[1].weights + weight_bytes(model).embedding);
    const auto of_two = static_cast<std::uint64_t>(10 * two.request.rows + two.request.prediction_rows());
    EXPECT_EQ(two.working, two_alone.working + 2 * hidden * of_two);
}

}  // namespace
}  // namespace voltpile::llm::draft_plan_test
