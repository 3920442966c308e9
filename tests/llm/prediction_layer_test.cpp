// The layer of a model that predicts further tokens, against PyTorch and as what guesses for the model.
#include "llm/model/prediction_layer.h"

#include "base/error.h"
#include "llm/cycle_models.h"
#include "llm/ops_fixture.h"

namespace voltpile::llm::prediction_layer_test {
namespace {

using namespace predicting;
using test_files::missing;
using test_files::TestFolder;

class PredictionLayerTest : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Families, PredictionLayerTest,
                         testing::Values("glm4_moe_mtp", "deepseek_v3_mtp", "glm4_moe_two_mtp"),
                         [](const auto& name) { return name.param; });

TEST_P(PredictionLayerTest, HasTheLogitsOfPyTorch) {
    const ModelFiles files(golden_folder(GetParam()));
    const auto layer = files.prediction_layers();
    const Predictions golden = load_predictions(GetParam());
    for (const MakeOps& make_ops : {MakeOps(make_reference_ops), MakeOps(make_cpu_ops)}) {
        PredictingModel model(files, *layer, 1, make_ops);
        const auto whole = predicted(model, golden, 300);
        EXPECT_LT(nmse(whole, golden.logits), logit_tolerance);
        EXPECT_EQ(predicted(model, golden, 7), whole);
    }
}

TEST_P(PredictionLayerTest, AgreesWithTensorParallel) {
    const ModelFiles files(golden_folder(GetParam()));
    const auto layer = files.prediction_layers();
    const Predictions golden = load_predictions(GetParam());
    for (const bool joint : {false, true}) {
        PredictingModel model(files, *layer, 2, make_cpu_ops, joint);
        EXPECT_LT(nmse(predicted(model, golden, 20), golden.logits), logit_tolerance) << joint;
    }
}

TEST(PredictionLayer, IsTheSameInGgufFiles) {
    const ModelFiles files(golden_folder("glm4_moe_mtp") + "/model.gguf");
    const auto layer = files.prediction_layers();
    PredictingModel model(files, *layer, 1, make_cpu_ops);
    const Predictions golden = load_predictions("glm4_moe_mtp");
    EXPECT_LT(nmse(predicted(model, golden, 300), golden.logits), logit_tolerance);
}

TEST(PredictionLayer, SharesCopiesOfEmbeddingAndHead) {
    for (const char* const path : {"glm4_moe_mtp", "glm4_moe_mtp/model.gguf"}) {
        const ModelFiles files(golden_folder(path));
        const auto layer = files.prediction_layers();
        EXPECT_EQ(layer->config().prediction->own_embedding, std::vector{false});
        EXPECT_EQ(layer->config().prediction->own_head, std::vector{false});
        EXPECT_THROW(layer->tensor("blk.0.nextn.shared_head_head.weight"), std::out_of_range);
        EXPECT_EQ(layer->config().prediction->number, 2);
    }
    const ModelFiles files(golden_folder("deepseek_v3_mtp"));
    const auto own = files.prediction_layers();
    EXPECT_EQ(own->config().prediction->own_head, std::vector{true});
    EXPECT_EQ(own->tensor("blk.0.nextn.shared_head_head.weight").rows,
              static_cast<std::size_t>(files.config().vocab));
}

// The second of two layers has a head of its own, and the first an embedding.
TEST(PredictionLayer, TellsWhichLayersHaveTheirOwn) {
    const TestFolder folder("mtp_own_parts");
    const std::string golden = golden_folder("glm4_moe_two_mtp");
    folder.write("config.json", text_of(golden + "/config.json"));
    Weights weights(text_of(golden + "/model.safetensors"));
    const auto other = [](int row, int column) { return static_cast<float>(row - column); };
    weights.set("model.layers.2.embed_tokens.weight", other);
    weights.set("model.layers.3.shared_head.head.weight", other);
    folder.write("model.safetensors", weights.bytes());
    const ModelFiles files(folder.path());
    const auto layers = files.prediction_layers();
    EXPECT_EQ(layers->config().layers, 2);
    EXPECT_EQ(layers->config().prediction->own_embedding, (std::vector{true, false}));
    EXPECT_EQ(layers->config().prediction->own_head, (std::vector{false, true}));
}

// ---- what it guesses

TEST_P(PredictionLayerTest, ChangesNeitherTokensNorProbabilities) {
    const ModelFiles model(golden_folder(GetParam()));
    expect_same_tokens(model, *model.prediction_layers());
}

void expect_right_guesses(const MakeOps& make_ops) {
    for (const bool from_hidden_state : {false, true}) {
        const TestFolder folder("mtp_cycle");
        write_prediction_cycle(folder, from_hidden_state);
        const ModelFiles model(folder.path());
        predicting::expect_right_guesses(model, *model.prediction_layers(), make_ops);
    }
}

TEST(PredictionLayer, GuessesRightWhereItMustKnow) {
    expect_right_guesses(make_cpu_ops);
}

void expect_right_guesses_of_two(const MakeOps& make_ops) {
    for (const bool first : {false, true})
        for (const bool second : {false, true}) {
            SCOPED_TRACE(first ? "first layer from the hidden state" : "first layer from the embedding");
            SCOPED_TRACE(second ? "second layer from the hidden state" : "second layer from the embedding");
            const TestFolder folder("two_mtp_cycle");
            write_cycle_of_two_layers(folder, first, second);
            const ModelFiles model(folder.path());
            predicting::expect_right_guesses(model, *model.prediction_layers(), make_ops);
        }
}

TEST(PredictionLayer, GuessesRightWhereTwoLayersMustKnow) {
    expect_right_guesses_of_two(make_cpu_ops);
}

class PredictionLayerGpuTest : public testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        if (device_count() == 0) GTEST_SKIP() << "no GPU";
    }
};

INSTANTIATE_TEST_SUITE_P(Families, PredictionLayerGpuTest,
                         testing::Values("glm4_moe_mtp", "deepseek_v3_mtp", "glm4_moe_two_mtp"),
                         [](const auto& name) { return name.param; });

TEST(PredictionLayerGpu, GuessesRightWhereTwoLayersMustKnow) {
    if (device_count() == 0) GTEST_SKIP() << "no GPU";
    expect_right_guesses_of_two([] { return gpu_ops_maker(false).make(); });
}

// The tolerance is that of decoder_experts_gpu_test.cpp.
TEST_P(PredictionLayerGpuTest, HasTheLogitsOfPyTorch) {
    const ModelFiles files(golden_folder(GetParam()));
    const auto layer = files.prediction_layers();
    const Predictions golden = load_predictions(GetParam());
    for (const bool invariant : {false, true}) {
        PredictingModel model(files, *layer, 1, [&] { return gpu_ops_maker(invariant).make(); });
        for (const int piece : {300, 1, 7})
            EXPECT_LT(nmse(predicted(model, golden, piece), golden.logits), 1e-4);
    }
}

TEST(PredictionLayerGpu, GuessesRightWhereItMustKnow) {
    if (device_count() == 0) GTEST_SKIP() << "no GPU";
    expect_right_guesses([] { return gpu_ops_maker(false).make(); });
}

// The rows of pages that come back from host memory come back too.
TEST(PredictionLayer, GuessesAfterPagesFromHostMemory) {
    const TestFolder folder("mtp_pages");
    write_prediction_cycle(folder, true);
    const ModelFiles model(folder.path());
    const auto layer = model.prediction_layers();
    constexpr int pages = 12, prompts = 8;
    Guessing guessing(model, *layer, make_cpu_ops(), false, pages, 10, 100);
    EngineSettings settings;
    settings.scheduler = guessing.settings();
    settings.scheduler.draft_tokens = 3;
    settings.scheduler.drafter = &guessing.drafter();
    settings.scheduler.draft_pace = PassPace({{1, 1.0}, {40, 1.5}});
    Engine engine(guessing.passes(), nullptr, settings);
    for (int turn = 0; turn < 2; ++turn)
        for (int i = 0; i < prompts; ++i) {
            Request request;
            request.id = prompts * turn + i;
            request.prompt = {kFirst + i};
            while (std::ssize(request.prompt) < 70) request.prompt.push_back(follower(request.prompt.back()));
            request.max_tokens = 16;
            request.ignore_end = true;
            engine.submit(std::move(request));
            std::vector<Outcome> ended;
            while (ended.empty()) ended = engine.step();
        }
    EXPECT_GT(engine.counters().scheduler.pages_brought_back, prompts);
    EXPECT_EQ(engine.counters().right_tokens, engine.counters().drafted_tokens);
    EXPECT_GT(engine.counters().right_tokens, 2 * prompts * 16 / 3);
}

// ---- bad input

// Returns the error of opening the prediction layer of a model of which one text in the header of the weights
// is another of the same length.
std::string message_with(std::string_view text, std::string_view other,
                         const std::string& golden = golden_folder("glm4_moe_mtp")) {
    const TestFolder folder("mtp_bad");
    folder.write("config.json", text_of(golden + "/config.json"));
    std::string bytes = text_of(golden + "/model.safetensors");
    bytes.replace(bytes.find(text), text.size(), other);
    folder.write("model.safetensors", bytes);
    const ModelFiles model(folder.path());  // does not need the layer
    try {
        model.prediction_layers();
    } catch (const FileError& error) {
        EXPECT_EQ(error.exit_code(), ExitCode::BadInput);
        return error.what();
    }
    return "no error";
}

TEST(PredictionLayer, NamesMissingAndWrongTensors) {
    for (const std::string part : {"eh_proj", "enorm", "hnorm"}) {
        const std::string message = message_with("layers.2." + part, "layers.2.x" + part.substr(1));
        EXPECT_EQ(missing("blk.2.nextn." + part + ".weight is missing", message), "");
        EXPECT_EQ(missing("a GLM 4.5 layer that predicts further tokens", message), "");
    }
    EXPECT_EQ(missing("blk.2.nextn.shared_head_norm.weight is missing",
                      message_with("layers.2.shared_head.norm", "layers.2.shared_head.nirm")),
              "");
    EXPECT_EQ(missing("blk.2.attn_k.bias is missing",
                      message_with("layers.2.self_attn.k_proj", "layers.2.self_attn.x_proj")),
              "");
    // The rest of the tensor's entry tells it from others of its shape.
    const std::string bytes = text_of(golden_folder("glm4_moe_mtp/model.safetensors"));
    const std::size_t shape = bytes.find("[64,128]", bytes.find("layers.2.eh_proj"));
    const std::string entry = bytes.substr(shape, bytes.find('}', shape) - shape);
    EXPECT_EQ(missing("blk.2.nextn.eh_proj.weight is 128 x 64 instead of 64 x 128",
                      message_with(entry, "[128,64]" + entry.substr(8))),
              "");
}

TEST(PredictionLayer, NamesMissingTensorsOfTheSecondLayer) {
    const std::string message =
        message_with("layers.3.enorm", "layers.3.xnorm", golden_folder("glm4_moe_two_mtp"));
    EXPECT_EQ(missing("blk.3.nextn.enorm.weight is missing", message), "");
}

TEST(PredictionLayer, NeedsAModelThatHasOne) {
    const ModelFiles model(golden_folder("mixtral"));
    EXPECT_THROW(model.prediction_layers(), JobError);
}

}  // namespace
}  // namespace voltpile::llm::prediction_layer_test
