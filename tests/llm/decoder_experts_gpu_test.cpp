// The golden mixtures of experts on a GPU.
#include "device/device.h"
#include "llm/decoder_fixture.h"
#include "llm/ops_fixture.h"

namespace voltpile::llm {
namespace {

class DecoderExpertsGpuTest : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        if (device_count() == 0) GTEST_SKIP() << "no GPU";
    }
};
INSTANTIATE_TEST_SUITE_P(Mixtures, DecoderExpertsGpuTest,
                         testing::Values("mixtral", "qwen2_moe", "qwen3_moe", "qwen3_moe_dense", "olmoe",
                                         "glm4_moe", "glm4_moe_groups", "deepseek_v2", "deepseek_v2_groups",
                                         "deepseek_v3", "gpt_oss", "gpt_oss_mxfp4"),
                         [](const auto& name) { return name.param; });

// Activations are fp16, rounded by 2^-12 on average at each of some ten products of a token: squared and
// added, below 1e-6. Where that swaps two experts with almost the same logit, the last ones that a token
// uses, some percent of its output change; one token in a hundred may have that.
TEST_P(DecoderExpertsGpuTest, HasTheLogitsOfTransformers) {
    const ModelFiles files(golden_folder(GetParam()));
    const Golden golden = load_golden(GetParam());
    for (const bool invariant : {false, true}) {
        TestModel model(files, 1, {0}, [&] { return gpu_ops_maker(invariant).make(); });
        for (const std::vector<int>& sizes : {std::vector<int>{300}, {1}, {7, 16, 30, 2}})
            EXPECT_LT(nmse(model.run_in_pieces(golden.tokens, sizes), golden.logits), 1e-4) << sizes[0];
    }
}

// The experts of all layers, or of the last one, in host memory.
TEST_P(DecoderExpertsGpuTest, HasTheLogitsOfTransformersWithExpertsInHostMemory) {
    const ModelFiles files(golden_folder(GetParam()));
    const Golden golden = load_golden(GetParam());
    // Cores round activations to 8 bits for quantized weights (decoder_golden_test.cpp).
    const double bound = std::string_view(GetParam()) == "gpt_oss_mxfp4" ? 1e-2 : 1e-4;
    for (const int on_host : {layers_with_experts(files.config()), 1}) {
        TestModel model(
            files, 1, {0}, [&] { return gpu_ops_maker(false).make(); }, KvElement::F16, on_host);
        for (const std::vector<int>& sizes : {std::vector<int>{300}, {1}, {7, 16, 30, 2}})
            EXPECT_LT(nmse(model.run_in_pieces(golden.tokens, sizes), golden.logits), bound) << sizes[0];
    }
}

// Passes of many rows copy the experts to the GPU.
TEST_P(DecoderExpertsGpuTest, HasTheSameLogitsWithStreamedExperts) {
    const ModelFiles files(golden_folder(GetParam()));
    const Golden golden = load_golden(GetParam());
    const auto make = [] { return gpu_ops_maker(false).make(); };
    TestModel on_gpu(files, 1, {0}, make);
    TestModel streamed(files, 1, {0}, make, KvElement::F16, layers_with_experts(files.config()), 1);
    for (const std::vector<int>& sizes : {std::vector<int>{300}, {7, 16, 30, 2}})
        EXPECT_EQ(streamed.run_in_pieces(golden.tokens, sizes), on_gpu.run_in_pieces(golden.tokens, sizes));
}

TEST_P(DecoderExpertsGpuTest, PiecesAreBitIdenticalIfBatchInvariant) {
    const ModelFiles files(golden_folder(GetParam()));
    const Golden golden = load_golden(GetParam());
    TestModel model(files, 1, {0}, [] { return gpu_ops_maker(true).make(); });
    const auto whole = model.run_in_pieces(golden.tokens, {300});
    EXPECT_EQ(model.run_in_pieces(golden.tokens, {1}), whole);
    EXPECT_EQ(model.run_in_pieces(golden.tokens, {7, 16, 30, 2}), whole);
}

}  // namespace
}  // namespace voltpile::llm
