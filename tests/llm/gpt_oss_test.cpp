// gpt-oss: descriptions, stacks of experts in folders, and YaRN without rounded bounds.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "llm/decoder/rope_frequencies.h"
#include "llm/model/hf_config.h"
#include "llm/model/model_family.h"
#include "llm/model/model_files.h"
#include "llm/model/model_memory.h"
#include "llm/model/synthetic_model.h"
#include "llm/model/synthetic_shapes.h"
#include "model_test_files.h"

namespace voltpile::llm::gpt_oss_test {
namespace {

using test_files::missing;
using test_files::TestFolder;

const std::string kFolder = std::string(VOLTPILE_SOURCE_DIR) + "/data/llm/goldens/gpt_oss_mxfp4";

std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// Returns the message for the golden model with other files.
std::string message_for(const std::string& config, const std::string& weights) {
    const TestFolder folder("gpt_oss");
    folder.write("config.json", config);
    folder.write("model.safetensors", weights);
    try {
        const ModelFiles opened(folder.path());
    } catch (const FileError& error) {
        EXPECT_EQ(error.exit_code(), ExitCode::BadInput);
        return error.what();
    }
    return "no error";
}

std::string message_for_config(const std::string& from, const std::string& to) {
    return message_for(replaced(text_of(kFolder + "/config.json"), from, to),
                       text_of(kFolder + "/model.safetensors"));
}

// The name in the header of the file becomes another one of the same length.
std::string message_for_tensor(const std::string& from, const std::string& to) {
    return message_for(text_of(kFolder + "/config.json"),
                       replaced(text_of(kFolder + "/model.safetensors"), from, to));
}

std::vector<std::byte> bytes_of(const ModelSource& model, const ModelTensor& tensor) {
    std::vector<std::byte> bytes(tensor.bytes());
    model.read(tensor, whole(tensor), bytes.data());
    return bytes;
}

TEST(GptOss, ReadsItsDescription) {
    const ModelConfig config = config_from_folder(kFolder);
    EXPECT_EQ(config.family->name, "gpt-oss");
    EXPECT_TRUE(config.blocks.qkv_bias && config.blocks.output_bias && config.blocks.sinks &&
                config.blocks.expert_biases);
    EXPECT_EQ(config.blocks.activation, Activation::ClampedSwiglu);
    EXPECT_EQ(config.experts.count, 9);
    EXPECT_EQ(config.experts.used, 4);
    EXPECT_TRUE(config.experts.normalized);
    EXPECT_EQ(config.sliding_window, 24);
    EXPECT_EQ(config.layer_slides, (std::vector<bool>{true, false}));
    EXPECT_FALSE(config.rope_scaling.truncated);
    const ModelFiles file(kFolder + "/model.gguf");
    EXPECT_EQ(file.config().blocks, config.blocks);
    EXPECT_EQ(file.config().layer_slides, config.layer_slides);
    EXPECT_EQ(file.config().rope_scaling, config.rope_scaling);
}

// The package that wrote the GGUF file and transformers dequantize both to the same weights.
TEST(GptOss, ConvertsStacksToTheBlocksOfTheGgufFile) {
    const ModelFiles folder(kFolder), file(kFolder + "/model.gguf");
    int compared = 0;
    for (const ModelTensor& tensor : folder.tensors()) {
        if (tensor.expert < 0) continue;
        ASSERT_EQ(tensor.format, WeightFormat::MXFP4);
        EXPECT_EQ(bytes_of(folder, tensor), bytes_of(file, file.tensor(tensor.name))) << tensor.name;
        ++compared;
    }
    EXPECT_EQ(compared, 2 * 3 * 9);
}

TEST(GptOss, ReadsSlicesOfStacks) {
    for (const std::string& name : {std::string("gpt_oss"), std::string("gpt_oss_mxfp4")}) {
        const ModelFiles folder(std::string(VOLTPILE_SOURCE_DIR) + "/data/llm/goldens/" + name);
        for (const char* kind : {"ffn_gate.3.weight", "ffn_up.3.weight", "ffn_down.3.weight"}) {
            const ModelTensor& tensor = folder.layer_tensor(1, kind);
            const auto all = bytes_of(folder, tensor);
            const TensorSlice slice{5, 21, 32, 64};
            std::vector<std::byte> some(slice.bytes(tensor.format));
            folder.read(tensor, slice, some.data());
            const std::size_t row = row_bytes(tensor.format, 32);
            for (std::size_t r = 0; r < slice.rows(); ++r)
                EXPECT_TRUE(
                    std::equal(some.begin() + static_cast<std::ptrdiff_t>(r * row),
                               some.begin() + static_cast<std::ptrdiff_t>((r + 1) * row),
                               all.begin() + static_cast<std::ptrdiff_t>(
                                                 (5 + r) * row_bytes(tensor.format, tensor.columns) + row)))
                    << name << ' ' << kind << ' ' << r;
        }
    }
}

TEST(GptOss, NamesPartsThatAreMissing) {
    EXPECT_EQ(
        missing("layers.1.mlp.experts.down_proj_blocks needs model.layers.1.mlp.experts.down_proj_scales, "
                "which is missing",
                message_for_tensor("1.mlp.experts.down_proj_scales", "1.mlp.experts.down_proj_Scales")),
        "");
    EXPECT_EQ(
        missing("blk.0.ffn_up_exps.bias is missing",
                message_for_tensor("0.mlp.experts.gate_up_proj_bias", "0.mlp.experts.gate_up_proj_Bias")),
        "");
    EXPECT_EQ(missing("blk.1.attn_sinks.weight is missing",
                      message_for_tensor("1.self_attn.sinks", "1.self_attn.Sinks")),
              "");
}

TEST(GptOss, NamesWhatContradictsTheConfig) {
    EXPECT_EQ(
        missing(
            "mlp.experts.gate_up_proj_blocks has 4608 rows of 16 numbers where 8 experts of 128 x 64 need "
            "4096 rows of 16",
            message_for_config("\"num_local_experts\": 9", "\"num_local_experts\": 8")),
        "");
    EXPECT_EQ(missing("mlp.experts.gate_up_proj_blocks has 4608 rows",
                      message_for_config("\"intermediate_size\": 128", "\"intermediate_size\": 96")),
              "");
    EXPECT_EQ(missing("the number of experts is 0, not from 1 to",
                      message_for_config("\"num_local_experts\": 9", "\"num_local_experts\": 0")),
              "");
    EXPECT_EQ(missing("\"swiglu_limit\": 5 is not supported (supported: 7)",
                      message_for_config("\"swiglu_limit\": 7.0", "\"swiglu_limit\": 5.0")),
              "");
    EXPECT_EQ(missing("\"layer_types\" does not have one entry for each layer",
                      message_for_config("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3")),
              "");
    EXPECT_EQ(missing("blk.0.attn_sinks.weight is 1 x 4 instead of 1 x 2",
                      message_for_config("\"num_attention_heads\": 4", "\"num_attention_heads\": 2")),
              "");
}

// The bounds of the published models' interpolation are pairs 8.09 and 17.4.
TEST(GptOss, InterpolatesBetweenBoundsThatAreNotRounded) {
    ModelConfig config = synthetic_shape("gpt-oss-120b");
    const auto frequencies = rope_frequencies(config, {}, config.context).frequencies;
    config.rope_scaling = {};
    const auto plain = rope_frequencies(config, {}, config.context).frequencies;
    const double low = 8.092779115512402, high = 17.39802450158856;
    ASSERT_EQ(frequencies.size(), 32u);
    for (std::size_t i = 0; i < 32; ++i) {
        const double share = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
        const double wanted = static_cast<double>(plain[i]) * (1 - share + share / 32);
        EXPECT_NEAR(frequencies[i], wanted, 1e-6 * wanted) << i;  // fp32 has 6e-8
    }
}

// The numbers of weights that the authors publish, in billions; those that a token uses without the
// embedding.
TEST(GptOss, CountsWeightsAsPublished) {
    const auto check = [](const char* shape, double all, double active) {
        const SyntheticModel model(shape, "mxfp4_moe");
        const WeightBytes bytes = weight_bytes(model);
        const double embedding = 201088.0 * 2880;
        EXPECT_NEAR(static_cast<double>(bytes.weights) * 1e-9, all, 0.005);
        EXPECT_NEAR((static_cast<double>(bytes.active) - embedding) * 1e-9, active, 0.005);
        EXPECT_EQ(model.layer_tensor(3, "ffn_up.7.weight").format, WeightFormat::MXFP4);
        EXPECT_EQ(model.layer_tensor(3, "attn_q.weight").format, WeightFormat::Q8_0);
        EXPECT_EQ(model.layer_tensor(3, "ffn_down_exps.bias").format, WeightFormat::F32);
    };
    check("gpt-oss-20b", 20.91, 3.61);
    check("gpt-oss-120b", 116.83, 5.13);
}

TEST(GptOss, WritesItsDescriptionToGgufFiles) {
    const TestFolder folder("gpt_oss_gguf");
    const SyntheticModel model("tiny-gpt-oss", "mxfp4_moe");
    model.write_gguf(folder / "tiny.gguf");
    const ModelFiles file(folder / "tiny.gguf");
    EXPECT_EQ(file.config().layer_slides, model.config().layer_slides);
    EXPECT_EQ(file.config().rope_scaling, model.config().rope_scaling);
}

}  // namespace
}  // namespace voltpile::llm::gpt_oss_test
