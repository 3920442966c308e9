// Folders as GGUF files: the small random models have the logits that transformers computes from the folder.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "llm/decoder_fixture.h"
#include "llm/job_error_text.h"
#include "llm/model/model_family.h"
#include "llm/model_test_files.h"
#include "llm/quantize/quantize_model.h"

namespace voltpile::llm {
namespace {

class FolderConversion : public ::testing::TestWithParam<const char*> {};

// Converts a folder to F16 and returns the error of the logits.
double error_of_converted(const std::string& in_folder, const std::vector<std::int32_t>& tokens,
                          const std::vector<float>& logits) {
    const test_files::TestFolder folder("quantize_folder_out");
    const std::string path = folder / "model.gguf";
    const ModelFiles original(in_folder);
    QuantizeSettings settings;
    settings.mixture = QuantMixture::F16;
    quantize_model(*open_folder_input(original), original.config(), path, settings);
    const ModelFiles files(path);
    EXPECT_EQ(files.config().family->name, original.config().family->name);
    EXPECT_EQ(files.config().sliding_window, original.config().sliding_window);
    EXPECT_EQ(files.config().experts.normalized, original.config().experts.normalized);
    EXPECT_EQ(files.config().context, original.config().context);
    TestModel model(files, 1, {0}, make_reference_ops);  // no rounded activations, as cores have with MXFP4
    return nmse(model.run_in_pieces(tokens, {300}), logits);
}

// Rounding weights to fp16 changes each by 2^-12 of itself on average, squared 6e-8, in some ten products one
// after the other.
constexpr double kTolerance = 1e-5;

TEST_P(FolderConversion, HasTheLogitsOfTransformers) {
    const Golden golden = load_golden(GetParam());
    EXPECT_LT(error_of_converted(golden_folder(GetParam()), golden.tokens, golden.logits), kTolerance);
}

INSTANTIATE_TEST_SUITE_P(Families, FolderConversion,
                         ::testing::Values("llama2", "llama3", "llama3_2_tied", "llama_linear",
                                           "mistral_window", "mistral_small", "qwen2_5", "qwen2_5_yarn",
                                           "qwen3", "qwen3_yarn_tied", "mixtral", "qwen2_moe", "qwen3_moe",
                                           "olmoe", "granite", "olmo2", "olmo2_grouped", "phi3",
                                           "phi3_longrope", "glm4", "glm4_unbiased", "glm4_moe",
                                           "glm4_moe_groups", "deepseek_v2", "deepseek_v3", "gpt_oss",
                                           "gpt_oss_mxfp4"),
                         [](const auto& each) { return std::string(each.param); });

// What the golden models of these families have, their GGUF files cannot say. Changed to what readers assume,
// they have the logits that transformers computes so.
struct Assumed {
    const char* name;
    const char* lost;
    const char* from;  // in config.json
    const char* to;
};
class FolderOfAssumedModel : public ::testing::TestWithParam<Assumed> {};

TEST_P(FolderOfAssumedModel, NamesWhatIsLostAndHasTheLogitsWithoutIt) {
    const std::string original = golden_folder(GetParam().name);
    const std::string text = message_of([&] { open_folder_input(ModelFiles(original)); });
    EXPECT_NE(text.find(std::string("have no keys for this model's ") + GetParam().lost), std::string::npos)
        << text;
    const test_files::TestFolder folder("quantize_folder_assumed");
    std::filesystem::copy_file(original + "/model.safetensors", folder / "model.safetensors");
    std::ifstream in(original + "/config.json");
    std::string config(std::istreambuf_iterator<char>(in), {});
    const std::size_t at = config.find(GetParam().from);
    ASSERT_NE(at, std::string::npos);
    config.replace(at, std::strlen(GetParam().from), GetParam().to);
    std::ofstream(folder / "config.json") << config;
    Golden golden = load_golden(GetParam().name);
    std::ifstream logits(original + "/logits_gguf.f32", std::ios::binary);
    logits.read(reinterpret_cast<char*>(golden.logits.data()),
                static_cast<std::streamsize>(golden.logits.size() * sizeof(float)));
    ASSERT_TRUE(logits);
    EXPECT_LT(error_of_converted(folder / "", golden.tokens, golden.logits), kTolerance);
}

INSTANTIATE_TEST_SUITE_P(
    Families, FolderOfAssumedModel,
    ::testing::Values(
        Assumed{"gemma2", "scale of attention", "\"query_pre_attn_scalar\": 16",
                "\"query_pre_attn_scalar\": 32"},
        Assumed{"gemma3", "sliding window", "\"sliding_window_pattern\": 3", "\"sliding_window_pattern\": 6"},
        Assumed{"smollm3", "layers without RoPE", "    1,\n    0,\n    1,\n", "    1,\n    1,\n    1,\n"}),
    [](const auto& each) { return std::string(each.param.name); });

// Cosine and sine have a factor: mscale is not mscale_all_dim.
TEST(FolderWithFactorOfRope, IsNamed) {
    const ModelFiles model(golden_folder("deepseek_v2_groups"));
    const std::string text = message_of([&] { open_folder_input(model); });
    EXPECT_NE(text.find("GGUF files of DeepSeek V2 models have no keys for this model's RoPE"),
              std::string::npos)
        << text;
}

TEST(FolderWithDenseLayers, IsNamed) {
    const ModelFiles model(golden_folder("qwen3_moe_dense"));
    const std::string text = message_of([&] { open_folder_input(model); });
    EXPECT_NE(
        text.find("GGUF files of Qwen 3 MoE models have no keys for this model's layers without experts"),
        std::string::npos)
        << text;
}

}  // namespace
}  // namespace voltpile::llm
