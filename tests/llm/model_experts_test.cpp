// Descriptions, tensors, sizes and cuts of mixtures of experts.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "llm/model/expert_load.h"
#include "llm/model/expert_tensors.h"
#include "llm/model/hf_config.h"
#include "llm/model/model_family.h"
#include "llm/model/model_files.h"
#include "llm/model/model_memory.h"
#include "llm/model/synthetic_model.h"
#include "llm/model/tensor_parallel.h"
#include "model_test_files.h"

namespace voltpile::llm::model_experts_test {
namespace {

using test_files::missing;
using test_files::TestFolder;

std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string golden(const std::string& name) {
    return std::string(VOLTPILE_SOURCE_DIR) + "/data/llm/goldens/" + name;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// Returns the message for a golden model with a changed config.json.
std::string message_for(const std::string& model, const std::string& from, const std::string& to) {
    const TestFolder folder("experts_" + model);
    folder.write("config.json", replaced(text_of(golden(model) + "/config.json"), from, to));
    std::filesystem::copy(golden(model) + "/model.safetensors", folder.path());
    try {
        const ModelFiles opened(folder.path());
    } catch (const FileError& error) {
        EXPECT_EQ(error.exit_code(), ExitCode::BadInput);
        return error.what();
    }
    return "no error";
}

TEST(Experts, ReadsTheRulesOfEachFamily) {
    const auto of = [](const char* name) { return config_from_folder(golden(name)); };
    const ModelConfig mixtral = of("mixtral"), qwen2 = of("qwen2_moe"), qwen3 = of("qwen3_moe");
    EXPECT_EQ(mixtral.family->name, "Mixtral");
    EXPECT_EQ(mixtral.experts.count, 8);
    EXPECT_EQ(mixtral.experts.used, 2);
    EXPECT_EQ(mixtral.experts.ffn, 64);
    EXPECT_TRUE(mixtral.experts.normalized);
    EXPECT_EQ(qwen2.experts.shared_ffn, 128);
    EXPECT_FALSE(qwen2.experts.normalized);
    EXPECT_TRUE(qwen2.blocks.qkv_bias);
    EXPECT_EQ(qwen3.experts.used, 4);
    EXPECT_EQ(qwen3.experts.shared_ffn, 0);
    EXPECT_TRUE(qwen3.experts.normalized);
    EXPECT_EQ(qwen3.blocks.qk_norm, QkNorm::Heads);
}

TEST(Experts, ReadsTheRulesOfGlm) {
    const std::string folder = golden("glm4_moe_groups");
    for (const std::string& path : {folder, folder + "/model.gguf"}) {
        const ModelFiles files(path);
        const ModelConfig& config = files.config();
        EXPECT_EQ(config.family->name, "GLM 4.5");
        EXPECT_EQ(config.blocks.qk_norm, QkNorm::Heads);
        EXPECT_FALSE(config.blocks.qkv_bias);
        EXPECT_EQ(config.rope_dims, 16);
        EXPECT_EQ(config.layer_dense, (std::vector<bool>{true, true, false}));
        const Experts& experts = config.experts;
        EXPECT_EQ(experts.count, 12);
        EXPECT_EQ(experts.used, 3);
        EXPECT_EQ(experts.shared_ffn, 128);
        EXPECT_TRUE(experts.sigmoid && experts.choice_bias && experts.normalized && !experts.shared_gate);
        EXPECT_EQ(experts.groups, 4);
        EXPECT_EQ(experts.used_groups, 2);
        EXPECT_EQ(experts.scale, 2.5);
    }
    EXPECT_EQ(ModelFiles(golden("glm4_moe")).config().layers, 3);
    EXPECT_EQ(ModelFiles(golden("glm4_moe") + "/model.gguf").config().layers, 3);
}

TEST(Experts, ReadsTheRulesOfDeepSeek) {
    const std::string v2 = golden("deepseek_v2"), v3 = golden("deepseek_v3");
    for (const std::string& path : {v2, v2 + "/model.gguf"}) {
        const ModelFiles files(path);
        const Experts& experts = files.config().experts;
        EXPECT_FALSE(experts.sigmoid || experts.choice_bias || experts.normalized || experts.shared_gate);
        EXPECT_EQ(experts.shared_ffn, 128);
        EXPECT_EQ(experts.groups, 1);
    }
    for (const std::string& path : {v3, v3 + "/model.gguf"}) {
        const ModelFiles files(path);
        const Experts& experts = files.config().experts;
        EXPECT_TRUE(experts.sigmoid && experts.choice_bias && experts.normalized);
        EXPECT_EQ(experts.groups, 4);
        EXPECT_EQ(experts.used_groups, 2);
        EXPECT_EQ(experts.scale, 2.5);
        EXPECT_EQ(files.config().layers, 3);
    }
    EXPECT_EQ(config_from_folder(golden("deepseek_v2_groups")).experts.scale, 4);
    EXPECT_EQ(missing("\"norm_topk_prob\": true is not supported",
                      message_for("deepseek_v2", "\"norm_topk_prob\": false", "\"norm_topk_prob\": true")),
              "");
    EXPECT_EQ(
        missing("\"topk_method\" is not supported",
                message_for("deepseek_v2", "\"topk_method\": \"greedy\"", "\"topk_method\": \"noaux_tc\"")),
        "");
    EXPECT_EQ(missing("\"moe_layer_freq\": 2 is not supported",
                      message_for("deepseek_v3", "\"moe_layer_freq\": 1", "\"moe_layer_freq\": 2")),
              "");
}

TEST(Experts, ReadsWhichLayersAreDense) {
    EXPECT_EQ(config_from_folder(golden("qwen3_moe_dense")).layer_dense,
              (std::vector<bool>{true, false, true, true}));
    EXPECT_TRUE(config_from_folder(golden("qwen3_moe")).layer_dense.empty());
}

TEST(Experts, NamesWhatContradictsTheConfig) {
    EXPECT_EQ(missing("blk.0.ffn_gate_inp.weight is 8 x 64 instead of 6 x 64",
                      message_for("mixtral", "\"num_local_experts\": 8", "\"num_local_experts\": 6")),
              "");
    EXPECT_EQ(missing("blk.0.ffn_gate.0.weight is 64 x 64 instead of 96 x 64",
                      message_for("mixtral", "\"intermediate_size\": 64", "\"intermediate_size\": 96")),
              "");
    EXPECT_EQ(missing("the number of experts of a token is 9, not from 1 to 8",
                      message_for("mixtral", "\"num_experts_per_tok\": 2", "\"num_experts_per_tok\": 9")),
              "");
    EXPECT_EQ(missing("blk.0.ffn_up_shexp.weight is 128 x 64 instead of 96 x 64",
                      message_for("qwen2_moe", "\"shared_expert_intermediate_size\": 128",
                                  "\"shared_expert_intermediate_size\": 96")),
              "");
    EXPECT_EQ(missing("blk.0.ffn_gate.weight is missing",
                      message_for("qwen3_moe", "\"decoder_sparse_step\": 1", "\"decoder_sparse_step\": 2")),
              "");
    EXPECT_EQ(missing("\"mlp_only_layers\" lists layer 4 of 4",
                      message_for("qwen3_moe_dense", "\"mlp_only_layers\": [\n    3",
                                  "\"mlp_only_layers\": [\n    4")),
              "");
    EXPECT_EQ(missing("5 groups do not divide 12 experts",
                      message_for("glm4_moe_groups", "\"n_group\": 4", "\"n_group\": 5")),
              "");
    EXPECT_EQ(
        missing("2 groups of 3 experts have fewer than the 7 of a token",
                message_for("glm4_moe_groups", "\"num_experts_per_tok\": 3", "\"num_experts_per_tok\": 7")),
        "");
    EXPECT_EQ(missing("groups of a sigmoid router have one expert each",
                      message_for("glm4_moe_groups", "\"n_group\": 4", "\"n_group\": 12")),
              "");
    EXPECT_EQ(
        missing("the scale of the experts' weights is -1",
                message_for("glm4_moe", "\"routed_scaling_factor\": 1.0", "\"routed_scaling_factor\": -1")),
        "");
    EXPECT_EQ(missing("blk.1.ffn_up_shexp.weight is 64 x 64 instead of 128 x 64",
                      message_for("glm4_moe", "\"n_shared_experts\": 1", "\"n_shared_experts\": 2")),
              "");
    EXPECT_EQ(missing("blk.3.attn_k.bias does not belong to a GLM 4.5 model",
                      message_for("glm4_moe", "\"num_nextn_predict_layers\": 1",
                                  "\"num_nextn_predict_layers\": 0")),
              "");
}

TEST(Experts, NamesStackedTensorsOfTheWrongShape) {
    const TestFolder folder("experts_gguf");
    const std::string path = folder / "tiny.gguf";
    SyntheticModel("tiny-moe", "q8_0").write_gguf(path);
    const std::string key = "qwen2moe.expert_feed_forward_length";
    std::string text = text_of(path);
    const std::uint32_t size = 128;
    std::memcpy(text.data() + text.find(key) + key.size() + sizeof(std::uint32_t), &size, sizeof size);
    folder.write("tiny.gguf", text);
    try {
        const ModelFiles opened(path);
        ADD_FAILURE() << "no error";
    } catch (const FileError& error) {
        EXPECT_EQ(missing("blk.0.ffn_gate_exps.weight has 2048 rows of 256 weights, not 1024 rows of 256 (8 "
                          "experts with matrices of 128 x 256)",
                          error.what()),
                  "");
    }
}

// The numbers of weights that the models' authors publish, in billions.
// A model with other formats of some tensors, for plans.
class Reformatted final : public ModelSource {
  public:
    Reformatted(const ModelSource& like, std::string_view part_of_name, WeightFormat format)
        : ModelSource(like.config(), changed(like.tensors(), part_of_name, format)) {}
    void read(const ModelTensor&, const TensorSlice&, std::byte*) const override {}
    std::string fingerprint() const override { return ""; }

  private:
    static std::vector<ModelTensor> changed(std::vector<ModelTensor> tensors, std::string_view part_of_name,
                                            WeightFormat format) {
        for (ModelTensor& tensor : tensors)
            if (tensor.name.find(part_of_name) != std::string::npos) tensor.format = format;
        return tensors;
    }
};

TEST(Experts, NamesGateAndUpWithDifferentFormatsOnGpus) {
    const SyntheticModel model("tiny-moe", "q4_k_m");
    EXPECT_NO_THROW(check_experts_on_gpus(model));
    EXPECT_NO_THROW(check_experts_on_gpus(Reformatted(model, "blk.2.ffn_down.", WeightFormat::Q8_0)));
    try {
        check_experts_on_gpus(Reformatted(model, "blk.2.ffn_up.", WeightFormat::Q8_0));
        FAIL();
    } catch (const JobError& error) {
        EXPECT_STREQ(
            error.what(),
            "blk.2.ffn_gate.0.weight is Q4_K and blk.2.ffn_up.0.weight is Q8_0: GPUs need one format "
            "for both; set device = cpu");
    }
}

TEST(Experts, CountsAllAndActiveWeights) {
    const WeightBytes mixtral = weight_bytes(SyntheticModel("mixtral-8x7b", "q4_k_m"));
    EXPECT_NEAR(static_cast<double>(mixtral.weights) * 1e-9, 46.7, 0.05);
    EXPECT_NEAR(static_cast<double>(mixtral.active) * 1e-9, 12.9, 0.05);
    const WeightBytes qwen = weight_bytes(SyntheticModel("qwen-3-30b-a3b", "q4_k_m"));
    EXPECT_NEAR(static_cast<double>(qwen.weights) * 1e-9, 30.5, 0.05);
    EXPECT_NEAR(static_cast<double>(qwen.active) * 1e-9, 3.3, 0.06);
    EXPECT_DOUBLE_EQ(qwen.unused_experts, 1 - 8.0 / 128);
    const WeightBytes glm = weight_bytes(SyntheticModel("glm-4.5-air", "q4_k_m"));
    // Embedding and head do not count on the model card.
    constexpr std::uint64_t ends = 2ULL * 151552 * 4096;
    EXPECT_NEAR(static_cast<double>(glm.weights - ends) * 1e-9, 106, 0.5);
    EXPECT_NEAR(static_cast<double>(glm.active - ends) * 1e-9, 12, 0.5);
}

TEST(Experts, TensorParallelCutsEachExpertAtBlocks) {
    const SyntheticModel model("glm-4.5-air", "q4_k_m");  // experts of 1408 elements, down in blocks of 32
    EXPECT_FALSE(has_whole_experts(model, 4));
    EXPECT_EQ(rank_share(model, 1, 4).experts, (IndexRange{0, 128}));
    EXPECT_EQ(rank_share(model, 1, 4).expert_ffn, (IndexRange{352, 704}));
    const TensorSlice up =
        tensor_shard(model, model.layer_tensor(1, "ffn_up.5.weight"), rank_share(model, 1, 4)).stored;
    EXPECT_EQ(up, (TensorSlice{352, 704, 0, 4096}));
}

// Experts of 768 elements have three blocks of 256: two ranks would have 1 and 2 of them, so one would
// read 1.33 times the mean; of the 8 experts of a token, the busier rank has 5.09 of 4 on average, 1.27
// times.
TEST(Experts, RanksHaveWholeExpertsWhereBlocksAreUneven) {
    const SyntheticModel model("qwen-3-30b-a3b", "q4_k_m");
    EXPECT_NEAR(busiest_rank(128, 2, 8.0 / 128), 5.09 / 4, 0.01);
    EXPECT_FALSE(has_whole_experts(model, 1));
    for (const int ranks : {2, 4}) {
        EXPECT_TRUE(has_whole_experts(model, ranks));
        EXPECT_EQ(tensor_parallel_obstacle(model, ranks), "");
    }
    const RankShare share = rank_share(model, 1, 4);
    EXPECT_EQ(share.experts, (IndexRange{32, 64}));
    EXPECT_EQ(share.expert_ffn, (IndexRange{0, 768}));
    const auto stored = [&](const char* name) {
        return tensor_shard(model, model.layer_tensor(0, name), share).stored;
    };
    EXPECT_EQ(stored("ffn_up.31.weight").rows(), 0);
    EXPECT_EQ(stored("ffn_up.32.weight"), (TensorSlice{0, 768, 0, 2048}));
    EXPECT_EQ(stored("ffn_down.63.weight"), (TensorSlice{0, 2048, 0, 768}));
    EXPECT_EQ(stored("ffn_down.64.weight").bytes(WeightFormat::Q4_K), 0);
}

// Against the exact expectation: of 2 experts of a token on 4 ranks, both are on one with probability 1/4, if
// independent.
TEST(Experts, TheBusiestRankIsAboutAsExpected) {
    EXPECT_NEAR(busiest_rank(1e6, 4, 2e-6), (1 * 0.75 + 2 * 0.25) / 0.5, 0.06);
    EXPECT_NEAR(busiest_rank(128, 4, 1), 1, 1e-12);
    EXPECT_DOUBLE_EQ(busiest_rank(128, 1, 0.1), 1);
}

TEST(Experts, BiasesFollowTheirExperts) {
    const SyntheticModel model("gpt-oss-20b", "mxfp4_moe");
    RankShare share = rank_share(model, 0, 2);
    share.experts = {8, 24};
    share.expert_ffn = {0, 2880};
    const auto stored = [&](const char* name) {
        return tensor_shard(model, model.layer_tensor(0, name), share).stored;
    };
    EXPECT_EQ(stored("ffn_up_exps.bias"), (TensorSlice{8, 24, 0, 2880}));
    EXPECT_EQ(stored("ffn_down_exps.bias"), (TensorSlice{8, 24, 0, 2880}));
    EXPECT_EQ(stored("ffn_gate_inp.bias"), (TensorSlice{0, 1, 0, 32}));
}

}  // namespace
}  // namespace voltpile::llm::model_experts_test
