// Compares small random models of every family with transformers, on one rank and on several.
#include <algorithm>
#include <fstream>

#include "llm/decoder_fixture.h"

namespace voltpile::llm {
namespace {

// The largest error of fp32 logits against transformers, 1e-4, squared. Differences come from the order of
// fp32 sums.
constexpr double tolerance = 1e-8;
// With keys and values in fp16, which differ by 2^-12 on average, squared 6e-8.
constexpr double tolerance_with_halves = 1e-5;

// Returns CpuOps of this machine's level or, for quantized weights, of the one that does not round
// activations to 8 bits.
MakeOps exact_cpu_ops(const ModelSource& model) {
    const bool quantized = std::ranges::any_of(
        model.tensors(), [](const ModelTensor& tensor) { return block_size(tensor.format) > 1; });
    return [level = quantized ? CpuLevel::Baseline : cpu_level()] {
        return std::make_unique<CpuOps>(std::vector<int>{-1}, cpu_kernels(level));
    };
}

class DecoderGoldenTest : public testing::TestWithParam<std::string> {
  protected:
    void expect_golden(TestModel& model, double bound = tolerance) {
        EXPECT_LT(nmse(model.run_in_pieces(golden_.tokens, {300}), golden_.logits), bound);
        EXPECT_EQ(
            model.continue_greedily({golden_.tokens.begin(),
                                     golden_.tokens.begin() + static_cast<std::ptrdiff_t>(golden_.prompt)},
                                    golden_.tokens.size() - golden_.prompt),
            std::vector<std::int32_t>(golden_.tokens.begin() + static_cast<std::ptrdiff_t>(golden_.prompt),
                                      golden_.tokens.end()));
    }

    ModelFiles files_{golden_folder(GetParam())};
    Golden golden_ = load_golden(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Families, DecoderGoldenTest,
                         testing::Values("llama2", "llama3", "llama3_2_tied", "llama_linear",
                                         "mistral_window", "mistral_small", "qwen2_5", "qwen2_5_yarn",
                                         "qwen3", "qwen3_yarn_tied", "smollm3", "granite", "olmo2",
                                         "olmo2_grouped", "phi3", "phi3_longrope", "glm4", "glm4_unbiased",
                                         "gemma2", "gemma3", "mixtral", "qwen2_moe", "qwen3_moe",
                                         "qwen3_moe_dense", "olmoe", "glm4_moe", "glm4_moe_groups",
                                         "deepseek_v2", "deepseek_v2_groups", "deepseek_v3", "gpt_oss",
                                         "gpt_oss_mxfp4"),
                         [](const auto& name) { return name.param; });

TEST_P(DecoderGoldenTest, PrefillsAndContinuesLikeTransformers) {
    TestModel model(files_, 1, {0}, exact_cpu_ops(files_), KvElement::F32);
    expect_golden(model);
    TestModel halves(files_, 1, {0}, exact_cpu_ops(files_));
    expect_golden(halves, tolerance_with_halves);
}

// The same models as GGUF files of the gguf package, with what readers of GGUF assume where the files do not
// say it (data/llm/goldens/make_gguf.py).
class DecoderGgufTest : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Families, DecoderGgufTest,
                         testing::Values("mistral_small", "smollm3", "granite", "olmo2", "phi3_longrope",
                                         "glm4", "gemma2", "gemma3", "glm4_moe", "glm4_moe_groups",
                                         "deepseek_v2", "deepseek_v3", "gpt_oss_mxfp4"),
                         [](const auto& name) { return name.param; });

TEST_P(DecoderGgufTest, HasTheLogitsOfTransformers) {
    Golden golden = load_golden(GetParam());
    if (std::ifstream assumed(golden_folder(GetParam()) + "/logits_gguf.f32", std::ios::binary); assumed)
        assumed.read(reinterpret_cast<char*>(golden.logits.data()),
                     static_cast<std::streamsize>(golden.logits.size() * sizeof(float)));
    const ModelFiles files(golden_folder(GetParam()) + "/model.gguf");
    TestModel model(files, 1, {0}, exact_cpu_ops(files), KvElement::F32);
    EXPECT_LT(nmse(model.run_in_pieces(golden.tokens, {300}), golden.logits), tolerance);
}

TEST_P(DecoderGoldenTest, PiecesAndSingleTokensAreBitIdentical) {
    TestModel model(files_, 1, {0}, exact_cpu_ops(files_));
    const auto whole = model.run_in_pieces(golden_.tokens, {300});
    EXPECT_EQ(model.run_in_pieces(golden_.tokens, {1}), whole);
    EXPECT_EQ(model.run_in_pieces(golden_.tokens, {7, 16, 30, 2}), whole);
}

TEST_P(DecoderGoldenTest, AgreesWithReferenceOps) {
    TestModel model(files_, 1, {0}, make_reference_ops, KvElement::F32);
    EXPECT_LT(nmse(model.run_in_pieces(golden_.tokens, {50, 1}), golden_.logits), tolerance);
}

TEST_P(DecoderGoldenTest, AgreesWithTensorParallel) {
    for (const int ranks : {2, 4}) {
        if (!tensor_parallel_obstacle(files_, ranks).empty()) continue;  // 6 heads on 4 ranks
        TestModel model(files_, ranks, {0}, exact_cpu_ops(files_), KvElement::F32);
        expect_golden(model);
        TestModel halves(files_, ranks, {0}, exact_cpu_ops(files_));
        expect_golden(halves, tolerance_with_halves);
        TestModel joint(files_, ranks, {0}, exact_cpu_ops(files_), KvElement::F32, 0, 0, true);
        expect_golden(joint);
    }
}

// The prompt is cut by rows; the passes after it have too few.
TEST_P(DecoderGoldenTest, AgreesWithPassesCutByRows) {
    constexpr int rows_to_cut = 2;
    for (const int ranks : {2, 4})
        for (const bool joint : {false, true}) {
            if (!tensor_parallel_obstacle(files_, ranks).empty()) continue;
            TestModel model(files_, ranks, {0}, exact_cpu_ops(files_), KvElement::F32, 0, 0, joint,
                            rows_to_cut);
            expect_golden(model);
        }
    TestModel crossed(files_, 2, {0, 1}, exact_cpu_ops(files_), KvElement::F32, 0, 0, true, rows_to_cut);
    expect_golden(crossed);
}

TEST_P(DecoderGoldenTest, AgreesWithPipelineAndTensorParallel) {
    TestModel two(files_, 1, {0, 1}, exact_cpu_ops(files_), KvElement::F32);
    expect_golden(two);
    TestModel crossed(files_, 2, {0, 1}, exact_cpu_ops(files_), KvElement::F32);
    expect_golden(crossed);
    TestModel joint(files_, 2, {0, 1}, exact_cpu_ops(files_), KvElement::F32, 0, 0, true);
    expect_golden(joint);
    if (files_.config().layers < 3) return;
    TestModel three(files_, 1, {0, 1, 2}, exact_cpu_ops(files_), KvElement::F32);
    expect_golden(three);
}

// Rounded activations change products by about 1 %, squared 1e-4 for each of some ten products of a token,
// and some tokens choose another expert.
TEST(DecoderRoundingTest, StaysCloseWithRoundedActivations) {
    const ModelFiles files(golden_folder("gpt_oss_mxfp4"));
    const Golden golden = load_golden("gpt_oss_mxfp4");
    TestModel model(files, 1, {0}, make_cpu_ops);
    const auto whole = model.run_in_pieces(golden.tokens, {300});
    EXPECT_LT(nmse(whole, golden.logits), 1e-2);
    EXPECT_EQ(model.run_in_pieces(golden.tokens, {7, 16, 30, 2}), whole);
}

// One batch with prompt pieces, single tokens and a shared prefix: each sequence's result is the same as if
// it were alone.
TEST_P(DecoderGoldenTest, SequencesInOneBatchAreIndependent) {
    TestModel model(files_, 1, {0}, exact_cpu_ops(files_));
    const std::span<const std::int32_t> text(golden_.tokens);
    const auto whole = model.run_in_pieces(text, {300});
    SequencePages a(model.pool), b(model.pool);
    ASSERT_TRUE(a.reserve(80) && b.reserve(50));
    BatchBuilder builder;
    builder.add(b, text.subspan(0, 20), 0, WantLogits::None);
    builder.add(a, text.subspan(0, 70), 0, WantLogits::Last);
    const auto logits = model.run(builder.take());
    const auto vocab = static_cast<std::ptrdiff_t>(logits.size());
    EXPECT_TRUE(std::equal(logits.begin(), logits.end(), whole.begin() + 69 * vocab));

    SequencePages c(a, 33);  // shares two pages of a
    EXPECT_EQ(c.room(), 32);
    ASSERT_TRUE(c.reserve(45));
    builder.add(a, text.subspan(70, 1), 70, WantLogits::Last);
    builder.add(b, text.subspan(20, 25), 20, WantLogits::Last);
    builder.add(c, text.subspan(32, 5), 32, WantLogits::All);
    const auto mixed = model.run(builder.take());
    const auto same = [&](int row, int position) {
        return std::equal(mixed.begin() + row * vocab, mixed.begin() + (row + 1) * vocab,
                          whole.begin() + position * vocab);
    };
    EXPECT_TRUE(same(0, 70) && same(1, 44));
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(same(2 + i, 32 + i));
}

}  // namespace
}  // namespace voltpile::llm
