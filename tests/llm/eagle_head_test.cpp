// EAGLE 3 heads, against PyTorch and as what guesses for their model.
#include "llm/model/eagle_head.h"

#include "base/error.h"
#include "llm/cycle_models.h"
#include "llm/ops_fixture.h"

namespace voltpile::llm::eagle_head_test {
namespace {

using namespace predicting;
using test_files::missing;
using test_files::TestFolder;

// data/llm/goldens/make_eagle.py
std::unique_ptr<ModelSource> head_of(const std::string& name, const ModelSource& model) {
    return ModelFiles::eagle_head(golden_folder(name) + "/head", model.config());
}

class EagleHeadTest : public testing::TestWithParam<std::string> {
  protected:
    ModelFiles model_{golden_folder(GetParam())};
    std::unique_ptr<ModelSource> head_ = head_of(GetParam(), model_);
    Predictions golden_ = load_predictions(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Forms, EagleHeadTest, testing::Values("eagle3", "eagle3_speculators"),
                         [](const auto& name) { return name.param; });

TEST_P(EagleHeadTest, HasTheLogitsOfPyTorch) {
    for (const MakeOps& make_ops : {MakeOps(make_reference_ops), MakeOps(make_cpu_ops)}) {
        PredictingModel model(model_, *head_, 1, make_ops);
        const auto whole = predicted(model, golden_, 300);
        EXPECT_LT(nmse(whole, golden_.logits), logit_tolerance);
        EXPECT_EQ(predicted(model, golden_, 7), whole);
    }
}

TEST_P(EagleHeadTest, AgreesWithTensorParallel) {
    for (const bool joint : {false, true}) {
        PredictingModel model(model_, *head_, 2, make_cpu_ops, joint);
        EXPECT_LT(nmse(predicted(model, golden_, 20), golden_.logits), logit_tolerance) << joint;
    }
}

// The states that the head reads come from one stage, from several, or only from the last.
TEST_P(EagleHeadTest, AgreesWithPipelineStages) {
    PredictingModel alone(model_, *head_, 1, make_cpu_ops);
    const auto expected = predicted(alone, golden_, 20);
    std::vector<int> all;  // stages of one layer
    for (int layer = 1; layer < model_.config().layers; ++layer) {
        all.push_back(layer);
        PredictingModel model(model_, *head_, 1, make_cpu_ops, false, {layer});
        EXPECT_EQ(predicted(model, golden_, 20), expected) << layer;
    }
    PredictingModel model(model_, *head_, 1, make_cpu_ops, false, all);
    EXPECT_EQ(predicted(model, golden_, 20), expected);
    EXPECT_LT(nmse(expected, golden_.logits), logit_tolerance);
}

TEST_P(EagleHeadTest, ChangesNeitherTokensNorProbabilities) {
    expect_same_tokens(model_, *head_);
}

// ---- what it guesses

void expect_right_guesses_of_head(const MakeOps& make_ops) {
    for (const bool from_states : {false, true}) {
        const TestFolder folder("eagle_cycle"), head("eagle_cycle_head");
        write_eagle_cycle(folder, head, from_states);
        const ModelFiles model(folder.path());
        expect_right_guesses(model, *ModelFiles::eagle_head(head.path(), model.config()), make_ops);
    }
}

TEST(EagleHead, GuessesRightWhereItMustKnow) {
    expect_right_guesses_of_head(make_cpu_ops);
}

TEST(EagleHeadGpu, GuessesRightWhereItMustKnow) {
    if (device_count() == 0) GTEST_SKIP() << "no GPU";
    expect_right_guesses_of_head([] { return gpu_ops_maker(false).make(); });
}

// The tolerance is that of decoder_experts_gpu_test.cpp.
TEST(EagleHeadGpu, HasTheLogitsOfPyTorch) {
    if (device_count() == 0) GTEST_SKIP() << "no GPU";
    for (const std::string name : {"eagle3", "eagle3_speculators"}) {
        const ModelFiles files(golden_folder(name));
        const auto head = head_of(name, files);
        const Predictions golden = load_predictions(name);
        PredictingModel model(files, *head, 1, [] { return gpu_ops_maker(false).make(); });
        for (const int piece : {300, 1, 7})
            EXPECT_LT(nmse(predicted(model, golden, piece), golden.logits), 1e-4);
    }
}

// ---- what it is

TEST(EagleHead, ReadsBothForms) {
    const ModelFiles model(golden_folder("eagle3")), other(golden_folder("eagle3_speculators"));
    const auto head = head_of("eagle3", model), speculators = head_of("eagle3_speculators", other);
    const EagleHead& one = *eagle_head_of(head->config());
    EXPECT_EQ(one.layers, (std::vector<int>{2, 3, 4}));
    EXPECT_EQ(one.tokens.size(), 96U);
    EXPECT_FALSE(one.norm_before_residual);
    EXPECT_EQ(head->config().vocab, 96);
    EXPECT_EQ(head->config().context, model.config().context);
    EXPECT_EQ(eagle_head_of(speculators->config())->layers, (std::vector<int>{0, 1, 3}));
    EXPECT_TRUE(eagle_head_of(speculators->config())->tokens.empty());
    EXPECT_TRUE(eagle_head_of(speculators->config())->norm_before_residual);
    EXPECT_TRUE(is_eagle_head(golden_folder("eagle3_speculators/head")));
    EXPECT_FALSE(is_eagle_head(golden_folder("eagle3")));
    EXPECT_FALSE(is_eagle_head(golden_folder("glm4_moe_mtp/model.gguf")));
}

// ---- bad input

// The error of opening the head after these changes of its config.json and the bytes of its weights.
std::string message_with(const nlohmann::json& changes, std::string_view text = {},
                         std::string_view other = {}, const std::string& model_name = "eagle3") {
    const TestFolder folder("eagle_bad");
    const std::string golden = golden_folder("eagle3/head");
    auto config = nlohmann::json::parse(text_of(golden + "/config.json"));
    if (changes.is_object()) config.update(changes);
    folder.write("config.json", config.dump());
    std::string bytes = text_of(golden + "/model.safetensors");
    if (!text.empty()) bytes.replace(bytes.find(text), text.size(), other);
    folder.write("model.safetensors", bytes);
    const ModelFiles model(golden_folder(model_name));
    try {
        ModelFiles::eagle_head(folder.path(), model.config());
    } catch (const FileError& error) {
        EXPECT_EQ(error.exit_code(), ExitCode::BadInput);
        return error.what();
    }
    return "no error";
}

TEST(EagleHead, RefusesHeadsOfOtherModels) {
    EXPECT_EQ(
        missing("for a vocabulary of 161 tokens, and the model has 160", message_with({{"vocab_size", 161}})),
        "");
    EXPECT_EQ(missing("the hidden size 96 for models of 96, and the model has 64",
                      message_with({{"hidden_size", 96}})),
              "");
    EXPECT_EQ(missing("the hidden size 64 for models of 32", message_with({{"target_hidden_size", 32}})), "");
    const std::string layers = "must ascend and be among the 7 layers of the model";
    EXPECT_EQ(missing("the layers 2, 3, 7, which " + layers,
                      message_with({{"eagle_aux_hidden_state_layer_ids", {2, 3, 7}}})),
              "");
    EXPECT_EQ(missing("the layers 2, 1, 4, which " + layers,
                      message_with({{"eagle_config", {{"eagle_aux_hidden_state_layer_ids", {1, 0, 3}}}}})),
              "");
    EXPECT_EQ(missing("the layers 2, 2, 1, which must ascend and be among the 4 layers",
                      message_with({}, {}, {}, "eagle3_speculators")),
              "");
}

TEST(EagleHead, RefusesWhatItDoesNotSupport) {
    EXPECT_EQ(
        missing(
            "architecture Eagle3DeepseekV2ForCausalLM are not supported (supported: LlamaForCausalLMEagle3,",
            message_with({{"architectures", {"Eagle3DeepseekV2ForCausalLM"}}})),
        "");
    EXPECT_EQ(missing("layers of type qwen3 are not supported", message_with({{"model_type", "qwen3"}})), "");
    EXPECT_EQ(missing("with 2 layers are not supported", message_with({{"num_hidden_layers", 2}})), "");
    EXPECT_EQ(missing("\"norm_before_fc\": true is not supported", message_with({{"norm_before_fc", true}})),
              "");
    EXPECT_EQ(missing("\"use_mtp_layernorm\": true in \"eagle_config\" is not supported",
                      message_with({{"eagle_config", {{"use_mtp_layernorm", true}}}})),
              "");
}

TEST(EagleHead, NamesMissingAndWrongTensors) {
    EXPECT_EQ(
        missing("midlayer.hidden_norm.weight is missing", message_with({}, "hidden_norm", "hidden_nrom")),
        "");
    EXPECT_EQ(missing("midlayer.input_layernorm.weight is missing",
                      message_with({}, "input_layernorm", "input_layernrom")),
              "");
    EXPECT_EQ(missing("the tensors are not those of an EAGLE 3 head: fc.weight is missing",
                      message_with({}, "\"fc.weight", "\"gc.weight")),
              "");
    EXPECT_EQ(
        missing("d2t has 96 integers, and draft_vocab_size is 80", message_with({{"draft_vocab_size", 80}})),
        "");
    EXPECT_EQ(
        missing("d2t is missing, which says which of the 160 tokens of the model the 96 of the head are",
                message_with({}, "\"d2t\"", "\"d3t\"")),
        "");
}

TEST(EagleHead, RefusesTokensOutsideTheVocabulary) {
    for (const auto& [last, says] :
         {std::pair{65, "d2t[95] is 65, which leaves the 160 tokens"}, {-96, "d2t[95] is -96"}}) {
        const TestFolder folder("eagle_tokens");
        const std::string golden = golden_folder("eagle3/head");
        folder.write("config.json", text_of(golden + "/config.json"));
        Weights weights(text_of(golden + "/model.safetensors"));
        weights.set("d2t", [last = last](int, int row) { return row == 95 ? last : 0; });
        folder.write("model.safetensors", weights.bytes());
        const ModelFiles model(golden_folder("eagle3"));
        try {
            ModelFiles::eagle_head(folder.path(), model.config());
            ADD_FAILURE() << last;
        } catch (const FileError& error) {
            EXPECT_EQ(missing(says, error.what()), "");
        }
    }
}

TEST(EagleHead, IsNoModel) {
    try {
        ModelFiles(golden_folder("eagle3/head"));
        FAIL();
    } catch (const FileError& error) {
        EXPECT_EQ(missing("is an EAGLE 3 head, which guesses for a model: give it as --draft", error.what()),
                  "");
    }
}

}  // namespace
}  // namespace voltpile::llm::eagle_head_test
