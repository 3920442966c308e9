// Folders as GGUF files: the small random models have the logits that transformers computes from the folder.
#include <gtest/gtest.h>

#include "llm/decoder_fixture.h"
#include "llm/job_error_text.h"
#include "llm/model/model_family.h"
#include "llm/model_test_files.h"
#include "llm/quantize/quantize_model.h"

namespace voltpile::llm {
namespace {

class FolderConversion : public ::testing::TestWithParam<const char*> {};

TEST_P(FolderConversion, HasTheLogitsOfTransformers) {
    const test_files::TestFolder folder(std::string("quantize_folder_") + GetParam());
    const std::string path = folder / (std::string(GetParam()) + ".gguf");
    const ModelFiles original(golden_folder(GetParam()));
    QuantizeSettings settings;
    settings.mixture = QuantMixture::F16;
    quantize_model(*open_folder_input(original), original.config(), path, settings);

    const ModelFiles files(path);
    EXPECT_EQ(files.config().family->name, original.config().family->name);
    EXPECT_EQ(files.config().sliding_window, original.config().sliding_window);
    EXPECT_EQ(files.config().experts.normalized, original.config().experts.normalized);
    EXPECT_EQ(files.config().context, original.config().context);
    const Golden golden = load_golden(GetParam());
    TestModel model(files, 1, {0}, make_cpu_ops);
    // Rounding weights to fp16 changes each by 2^-12 of itself on average, squared 6e-8, in some ten products
    // one after the other.
    EXPECT_LT(nmse(model.run_in_pieces(golden.tokens, {300}), golden.logits), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Families, FolderConversion,
                         ::testing::Values("llama2", "llama3", "llama3_2_tied", "llama_linear",
                                           "mistral_window", "qwen2_5", "qwen2_5_yarn", "qwen3",
                                           "qwen3_yarn_tied", "mixtral", "qwen2_moe", "qwen3_moe"),
                         [](const auto& each) { return std::string(each.param); });

TEST(FolderOfAnotherFamily, IsNamed) {
    const ModelFiles gemma(golden_folder("gemma2"));
    const std::string text = message_of([&] { open_folder_input(gemma); });
    EXPECT_NE(text.find("folders of Gemma 2 models cannot be converted yet (supported: Llama, "),
              std::string::npos)
        << text;
}

TEST(FolderWithDenseLayers, IsNamed) {
    const ModelFiles model(golden_folder("qwen3_moe_dense"));
    const std::string text = message_of([&] { open_folder_input(model); });
    EXPECT_NE(text.find("layers without experts have no keys in GGUF files of Qwen 3 MoE models"),
              std::string::npos)
        << text;
}

}  // namespace
}  // namespace voltpile::llm
