// Decoders whose experts are partly in host memory, on cores: there it changes nothing but the order of the
// calls. decoder_experts_gpu_test.cpp tests GPUs.
#include "llm/decoder_fixture.h"

namespace voltpile::llm {
namespace {

std::vector<float> logits_with(const ModelSource& model, const Golden& golden, int ranks,
                               const std::vector<int>& stages, int experts_on_host) {
    TestModel decoder(model, ranks, stages, make_cpu_ops, KvElement::F16, experts_on_host);
    return decoder.run_in_pieces(golden.tokens, {40, 1});
}

TEST(DecoderHostExperts, KeepTheLogits) {
    // With a shared expert and its gate; with dense layers; with biases and a clamped gate.
    for (const char* name : {"qwen2_moe", "glm4_moe", "gpt_oss_mxfp4"}) {
        const ModelFiles files(golden_folder(name));
        const Golden golden = load_golden(name);
        const int all = layers_with_experts(files.config());
        ASSERT_GT(all, 0);
        const auto wanted = logits_with(files, golden, 1, {0}, 0);
        EXPECT_EQ(logits_with(files, golden, 1, {0}, all), wanted) << name;
        EXPECT_EQ(logits_with(files, golden, 1, {0}, 1), wanted) << name;
        EXPECT_EQ(logits_with(files, golden, 1, {0, 1}, 1), wanted) << name;
        EXPECT_EQ(logits_with(files, golden, 2, {0}, all), logits_with(files, golden, 2, {0}, 0)) << name;
    }
}

}  // namespace
}  // namespace voltpile::llm
