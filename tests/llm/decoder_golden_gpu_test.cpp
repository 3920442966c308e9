// The golden models without experts, and folders with packed weights, on a GPU.
#include "device/device.h"
#include "llm/decoder_fixture.h"
#include "llm/ops_fixture.h"

namespace voltpile::llm {
namespace {

class DecoderGoldenGpuTest : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        if (device_count() == 0) GTEST_SKIP() << "no GPU";
    }
};
INSTANTIATE_TEST_SUITE_P(Families, DecoderGoldenGpuTest,
                         testing::Values("llama2", "llama3", "llama3_2_tied", "llama_linear",
                                         "mistral_window", "mistral_small", "qwen2_5", "qwen2_5_yarn",
                                         "qwen3", "qwen3_yarn_tied", "smollm3", "granite", "olmo2",
                                         "olmo2_grouped", "phi3", "phi3_longrope", "glm4", "glm4_unbiased",
                                         "gemma2", "gemma3"),
                         [](const auto& name) { return name.param; });
INSTANTIATE_TEST_SUITE_P(Packed, DecoderGoldenGpuTest,
                         testing::Values("packed_gptq", "packed_gptq_zeros", "packed_gptq_order",
                                         "packed_gptq_one_order", "packed_gptq_8", "packed_awq",
                                         "packed_int4", "packed_int4_zeros", "packed_int8", "packed_fp8",
                                         "packed_fp8_32", "packed_fp8_rows", "packed_nf4",
                                         "packed_nf4_double", "packed_nf4_32", "packed_fp4"),
                         [](const auto& name) { return name.param; });

// Activations are fp16, rounded by 2^-12 on average at each of some ten products of a token: squared and
// added, below 1e-6.
TEST_P(DecoderGoldenGpuTest, HasTheLogitsOfTransformers) {
    const ModelFiles files(golden_folder(GetParam()));
    const Golden golden = load_golden(GetParam());
    for (const bool invariant : {false, true}) {
        TestModel model(files, 1, {0}, [&] { return gpu_ops_maker(invariant).make(); });
        for (const std::vector<int>& sizes : {std::vector<int>{300}, {1}, {7, 16, 30, 2}})
            EXPECT_LT(nmse(model.run_in_pieces(golden.tokens, sizes), golden.logits), 1e-5) << sizes[0];
    }
}

}  // namespace
}  // namespace voltpile::llm
