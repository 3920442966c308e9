// Compares golden models with LoRA adapters with transformers and PEFT (data/llm/goldens/make_lora.py).
#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/error.h"
#include "device/device.h"
#include "llm/decoder_fixture.h"
#include "llm/model/lora/lora_adapter.h"
#include "llm/model_test_files.h"
#include "llm/ops_fixture.h"

namespace voltpile::llm::decoder_adapters_test {
namespace {

std::string adapter_folder(const std::string& name) {
    return golden_folder("lora/" + name);
}

// As in decoder_golden_test.cpp: fp32 sums in another order, keys and values in fp16.
constexpr double tolerance = 1e-5;

struct Adapted {
    Adapted(const std::string& model, const std::vector<std::string>& adapters, const std::string& file = "")
        : files(golden_folder(model) + file), tokens(load_golden(model).tokens) {
        ModelSource::Adapters loaded;
        for (const std::string& name : adapters)
            loaded.push_back(
                std::make_shared<const LoraAdapter>(AdapterChoice{name, adapter_folder(name)}, files));
        files.attach(std::move(loaded));
    }
    ModelFiles files;
    std::vector<std::int32_t> tokens;
};

// Of the first tokens, at least one.
std::vector<float> logits_of(const std::string& adapter) {
    const std::string path = adapter_folder(adapter) + "/logits.f32";
    std::vector<float> logits(std::filesystem::file_size(path) / sizeof(float));
    std::ifstream file(path, std::ios::binary);
    file.read(reinterpret_cast<char*>(logits.data()),
              static_cast<std::streamsize>(logits.size() * sizeof(float)));
    EXPECT_TRUE(file) << adapter;
    return logits;
}

// The tokens that `logits` are of.
std::span<const std::int32_t> tokens_of(const Adapted& adapted, const std::vector<float>& logits) {
    const std::size_t count = logits.size() / static_cast<std::size_t>(adapted.files.config().vocab);
    EXPECT_GT(count, 0U);
    return std::span(adapted.tokens).first(count);
}

// The largest difference between logits, in units of their root mean square.
double largest_difference(std::span<const float> got, std::span<const float> wanted) {
    double most = 0, squares = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        most = std::max(most, std::abs(static_cast<double>(got[i]) - static_cast<double>(wanted[i])));
        squares += static_cast<double>(wanted[i]) * static_cast<double>(wanted[i]);
    }
    return most / std::sqrt(squares / static_cast<double>(wanted.size()));
}

// sizes: of the passes.
void expect_logits(TestModel& model, const Adapted& adapted, const std::string& adapter, int index = 0,
                   const std::vector<int>& sizes = {300}) {
    const std::vector<float> wanted = logits_of(adapter);
    const auto logits = model.run_in_pieces(tokens_of(adapted, wanted), sizes, index);
    EXPECT_LT(nmse(logits, wanted), tolerance) << adapter;
}

struct Case {
    const char *model, *adapter;
};
class DecoderAdapterTest : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Adapters, DecoderAdapterTest,
                         testing::Values(Case{"mistral_small", "mistral_small_all"},
                                         Case{"mistral_small", "mistral_small_attention"},
                                         Case{"phi3", "phi3_fused"}, Case{"qwen2_5", "qwen2_5_patterns"},
                                         Case{"mixtral", "mixtral_experts"},
                                         Case{"qwen2_moe", "qwen2_moe_experts"},
                                         Case{"gpt_oss", "gpt_oss_experts"}),
                         [](const auto& each) { return each.param.adapter; });

TEST_P(DecoderAdapterTest, HasTheLogitsOfPeft) {
    const Adapted adapted(GetParam().model, {GetParam().adapter});
    TestModel model(adapted.files, 1, {0}, make_cpu_ops);
    expect_logits(model, adapted, GetParam().adapter);
    TestModel reference(adapted.files, 1, {0}, make_reference_ops);
    expect_logits(reference, adapted, GetParam().adapter);
}

TEST_P(DecoderAdapterTest, HasTheLogitsOfPeftOnAGpu) {
    if (device_count() == 0) GTEST_SKIP() << "no GPU";
    const Adapted adapted(GetParam().model, {GetParam().adapter});
    TestModel model(adapted.files, 1, {0}, [] { return gpu_ops_maker(false).make(); });
    // One row and a few are added to the residual stream at once.
    for (const std::vector<int>& sizes : {std::vector<int>{300}, {1, 3, 4, 17, 300}})
        expect_logits(model, adapted, GetParam().adapter, 0, sizes);
}

// The experts of all layers, or of the last one, in host memory; on GPUs, cores compute these rows even where
// passes of any length may stream experts.
void expect_logits_with_experts_on_host(const Case& of, const MakeOps& make_ops) {
    const Adapted adapted(of.model, {of.adapter});
    const int all = layers_with_experts(adapted.files.config());
    if (all == 0) GTEST_SKIP() << "no experts";
    for (const int on_host : {all, 1}) {
        TestModel model(adapted.files, 1, {0}, make_ops, KvElement::F16, on_host, 1);
        expect_logits(model, adapted, of.adapter);
    }
}

TEST_P(DecoderAdapterTest, HasTheLogitsOfPeftWithExpertsInHostMemory) {
    expect_logits_with_experts_on_host(GetParam(), make_cpu_ops);
}

TEST_P(DecoderAdapterTest, HasTheLogitsOfPeftWithExpertsInHostMemoryBesideAGpu) {
    if (device_count() == 0) GTEST_SKIP() << "no GPU";
    expect_logits_with_experts_on_host(GetParam(), [] { return gpu_ops_maker(false).make(); });
}

TEST_P(DecoderAdapterTest, AgreesWithTensorAndPipelineParallel) {
    const Adapted adapted(GetParam().model, {GetParam().adapter});
    for (const int ranks : {2, 4}) {
        if (!tensor_parallel_obstacle(adapted.files, ranks).empty()) continue;
        TestModel model(adapted.files, ranks, {0}, make_cpu_ops);
        expect_logits(model, adapted, GetParam().adapter);
    }
    TestModel stages(adapted.files, 2, {0, 1}, make_cpu_ops);
    expect_logits(stages, adapted, GetParam().adapter);
}

void expect_identical_pieces(const Case& of, const MakeOps& make_ops) {
    const Adapted adapted(of.model, {of.adapter});
    TestModel model(adapted.files, 1, {0}, make_ops);
    EXPECT_EQ(model.run_in_pieces(adapted.tokens, {7, 16, 30, 2}, 0),
              model.run_in_pieces(adapted.tokens, {300}, 0));
}

TEST_P(DecoderAdapterTest, PiecesAreBitIdentical) {
    expect_identical_pieces(GetParam(), make_cpu_ops);
}

TEST_P(DecoderAdapterTest, PiecesAreBitIdenticalOnAGpu) {
    if (device_count() == 0) GTEST_SKIP() << "no GPU";
    for (const std::size_t integer_bytes : {std::size_t{0}, std::size_t{1} << 28})
        expect_identical_pieces(GetParam(), [&] { return gpu_ops_maker(true, integer_bytes).make(); });
}

// Keys and values in fp16 leave more than 1e-4 in single logits, so the values of all logits are compared
// without rounding where the test can: the sum of squares of the differences is what fp16 explains.
TEST(DecoderAdapters, LargestDifferenceIsThatOfTheModelAlone) {
    for (const auto& [name, adapter] :
         {Case{"mistral_small", "mistral_small_all"}, Case{"mixtral", "mixtral_experts"},
          Case{"qwen2_moe", "qwen2_moe_experts"}}) {
        const Golden golden = load_golden(name);
        const Adapted adapted(name, {adapter});
        TestModel model(adapted.files, 1, {0}, make_cpu_ops);
        const std::vector<float> wanted = logits_of(adapter);
        const auto alone = model.run_in_pieces(golden.tokens, {300});
        const auto with = model.run_in_pieces(tokens_of(adapted, wanted), {300}, 0);
        EXPECT_LT(largest_difference(with, wanted), 3 * largest_difference(alone, golden.logits) + 1e-4)
            << adapter;
    }
}

// Queries and keys of Llama's GGUF files are in another order than those of folders; so are the adapters'.
TEST(DecoderAdapters, FitGgufModelsAndFolders) {
    for (const char* adapter : {"mistral_small_all", "mistral_small_all.gguf"})
        for (const char* file : {"", "/model.gguf"}) {
            const Adapted adapted("mistral_small", {adapter}, file);
            TestModel model(adapted.files, 1, {0}, make_cpu_ops);
            const auto logits = model.run_in_pieces(adapted.tokens, {300}, 0);
            EXPECT_LT(nmse(logits, logits_of("mistral_small_all")), tolerance) << adapter << file;
        }
}

// Factors of all experts in one tensor, in F16 instead of BF16.
TEST(DecoderAdapters, FitModelsWithTheExpertsOfGgufAdapters) {
    const Adapted adapted("mixtral", {"mixtral_experts.gguf"});
    for (const int ranks : {1, 2, 4}) {
        TestModel model(adapted.files, ranks, {0}, make_cpu_ops);
        expect_logits(model, adapted, "mixtral_experts");
    }
}

// The golden models share experts between ranks in both ways: in parts, and whole.
TEST(DecoderAdapters, OfExpertsAreTestedInPartsAndWhole) {
    const ModelFiles files(golden_folder("mixtral"));
    EXPECT_FALSE(has_whole_experts(files, 2));
    EXPECT_TRUE(has_whole_experts(files, 4));
    EXPECT_EQ(tensor_parallel_obstacle(files, 4), "");
}

TEST(DecoderAdapters, WithoutOneTheModelIsItself) {
    for (const auto& [name, adapters] :
         {std::pair<const char*, std::vector<std::string>>{"mistral_small",
                                                           {"mistral_small_all", "mistral_small_attention"}},
          {"mixtral", {"mixtral_experts"}}}) {
        const Golden golden = load_golden(name);
        const Adapted adapted(name, adapters);
        const ModelFiles plain(golden_folder(name));
        TestModel with(adapted.files, 1, {0}, make_cpu_ops), without(plain, 1, {0}, make_cpu_ops);
        EXPECT_EQ(with.run_in_pieces(golden.tokens, {300}), without.run_in_pieces(golden.tokens, {300}));
    }
}

// The last number of a factor, which is of any type, becomes NaN.
TEST(DecoderAdapters, WithNumbersThatAreNotFiniteAreRefused) {
    for (const auto& [name, adapter] :
         {Case{"mistral_small", "mistral_small_attention"}, Case{"mixtral", "mixtral_experts"}}) {
        const test_files::TestFolder folder("nan");
        for (const char* file : {"adapter_config.json", "adapter_model.safetensors"})
            std::filesystem::copy(adapter_folder(adapter) + "/" + file, folder / file);
        std::fstream tensors(folder / "adapter_model.safetensors",
                             std::ios::in | std::ios::out | std::ios::binary);
        tensors.seekp(-2, std::ios::end);
        tensors.write("\xff\x7f", 2);
        tensors.close();
        ModelFiles files(golden_folder(name));
        files.attach({std::make_shared<const LoraAdapter>(AdapterChoice{"bad", folder.path()}, files)});
        try {
            const TestModel model(files, 1, {0}, make_cpu_ops);
            FAIL() << adapter;
        } catch (const FileError& error) {
            EXPECT_EQ(error.exit_code(), ExitCode::BadInput);
            const std::string_view message = error.what();
            EXPECT_EQ(test_files::missing("adapter bad: its factors of blk.", error.what()), "");
            EXPECT_TRUE(message.ends_with("have numbers that are not finite")) << message;
        }
    }
}

// The change is small, and differs between adapters.
TEST(DecoderAdapters, MayHaveRandomFactors) {
    for (const char* name : {"mistral_small", "qwen2_moe"}) {
        const Golden golden = load_golden(name);
        ModelFiles files(golden_folder(name));
        files.attach({LoraAdapter::random("a", files, 8), LoraAdapter::random("b", files, 8)});
        TestModel model(files, 1, {0}, make_cpu_ops);
        const auto a = model.run_in_pieces(golden.tokens, {300}, 0),
                   b = model.run_in_pieces(golden.tokens, {300}, 1);
        EXPECT_LT(nmse(a, golden.logits), 0.1) << name;
        EXPECT_GT(nmse(a, golden.logits), 1e-8) << name;
        EXPECT_GT(nmse(a, b), 1e-8) << name;
    }
}

// Sequences with different adapters, and one without, in one batch: each gets the bits it gets alone.
void expect_independent_sequences(const Adapted& adapted) {
    for (const int ranks : {1, 2}) {
        TestModel model(adapted.files, ranks, {0, 1}, make_cpu_ops);
        std::vector<float> alone;
        std::vector<SequencePages> pages;
        BatchBuilder builder;
        const std::vector<int> adapters{1, -1, 0, 1};
        for (std::size_t s = 0; s < adapters.size(); ++s) {
            const std::span<const std::int32_t> tokens = std::span(adapted.tokens).subspan(s, 11 + 7 * s);
            const auto logits = model.run_in_pieces(tokens, {300}, adapters[s]);
            alone.insert(alone.end(), logits.begin(), logits.end());
            pages.emplace_back(model.pool);
            ASSERT_TRUE(pages.back().reserve(static_cast<int>(tokens.size())));
            builder.add(pages.back(), tokens, 0, WantLogits::All, adapters[s]);
        }
        EXPECT_EQ(model.run(builder.take()), alone) << ranks;
    }
}

TEST(DecoderAdapters, SequencesOfABatchDoNotDependOnEachOther) {
    expect_independent_sequences(Adapted("mistral_small", {"mistral_small_all", "mistral_small_attention"}));
    expect_independent_sequences(Adapted("mixtral", {"mixtral_experts", "mixtral_experts.gguf"}));
}

}  // namespace
}  // namespace voltpile::llm::decoder_adapters_test
