// gpt-oss folders as GGUF files: names as llama.cpp reads them, experts in MXFP4 that stay, stacks that are
// quantized, and the logits of the folder.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "llm/decoder_fixture.h"
#include "llm/job_error_text.h"
#include "llm/model/gguf_entries.h"
#include "llm/model_test_files.h"
#include "llm/quantize/calibrate.h"
#include "llm/quantize/quantize_model.h"

namespace voltpile::llm {
namespace {

// A GGUF file made from a golden model.
class Converted {
  public:
    Converted(const std::string& from, QuantMixture mixture, const ImportanceMatrix* importance = nullptr,
              std::size_t threads = 1)
        : folder_("quantize_gpt_oss") {
        const ModelFiles original(from);
        QuantizeSettings settings;
        settings.mixture = mixture;
        settings.importance = importance;
        settings.threads = threads;
        const auto input =
            original.gguf() != nullptr ? open_gguf_input(original) : open_folder_input(original);
        result_ = quantize_model(*input, original.config(), path(), settings);
    }

    std::string path() const { return folder_ / "model.gguf"; }
    const QuantizeResult& result() const { return result_; }
    double error(const std::string& golden_name) const {
        const Golden golden = load_golden(golden_name);
        const ModelFiles files(path());
        TestModel model(files, 1, {0}, make_reference_ops);
        return nmse(model.run_in_pieces(golden.tokens, {300}), golden.logits);
    }
    std::string bytes() const {
        std::ifstream file(path(), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

  private:
    test_files::TestFolder folder_;
    QuantizeResult result_;
};

struct Stored {
    std::uint16_t dimensions;
    std::size_t rows, columns;
    WeightFormat format;
    bool operator==(const Stored&) const = default;
};

std::map<std::string, Stored> tensors_of(const std::string& path) {
    std::map<std::string, Stored> tensors;
    const TensorFiles files = open_gguf(path);
    for (const auto& [name, stored] : files.tensors)
        tensors[std::string(name)] = {static_cast<std::uint16_t>(stored.dimensions), stored.rows,
                                      stored.columns, stored.format};
    return tensors;
}

std::vector<std::byte> bytes_of(const ModelSource& model, const ModelTensor& tensor) {
    std::vector<std::byte> bytes(tensor.bytes());
    model.read(tensor, whole(tensor), bytes.data());
    return bytes;
}

// The names and shapes of llama.cpp's src/models/openai-moe.cpp.
TEST(GptOssFolder, HasTheTensorsThatLlamaCppReads) {
    const Converted converted(golden_folder("gpt_oss_mxfp4"), QuantMixture::Q8_0);
    constexpr std::size_t hidden = 64, ffn = 128, experts = 9, heads = 4, q = 128, kv = 64, vocab = 288;
    using enum WeightFormat;
    std::map<std::string, Stored> expected = {{"token_embd.weight", {2, vocab, hidden, Q8_0}},
                                              {"output_norm.weight", {1, 1, hidden, F32}},
                                              {"output.weight", {2, vocab, hidden, Q8_0}}};
    for (const std::string& layer : {std::string("blk.0."), std::string("blk.1.")}) {
        expected.insert({{layer + "attn_norm.weight", {1, 1, hidden, F32}},
                         {layer + "attn_q.weight", {2, q, hidden, Q8_0}},
                         {layer + "attn_k.weight", {2, kv, hidden, Q8_0}},
                         {layer + "attn_v.weight", {2, kv, hidden, Q8_0}},
                         {layer + "attn_q.bias", {1, 1, q, F32}},
                         {layer + "attn_k.bias", {1, 1, kv, F32}},
                         {layer + "attn_v.bias", {1, 1, kv, F32}},
                         {layer + "attn_sinks.weight", {1, 1, heads, F32}},
                         {layer + "attn_output.weight", {2, hidden, q, Q8_0}},
                         {layer + "attn_output.bias", {1, 1, hidden, F32}},
                         {layer + "post_attention_norm.weight", {1, 1, hidden, F32}},
                         {layer + "ffn_gate_inp.weight", {2, experts, hidden, F32}},
                         {layer + "ffn_gate_inp.bias", {1, 1, experts, F32}},
                         {layer + "ffn_gate_exps.weight", {3, experts * ffn, hidden, MXFP4}},
                         {layer + "ffn_up_exps.weight", {3, experts * ffn, hidden, MXFP4}},
                         {layer + "ffn_down_exps.weight", {3, experts * hidden, ffn, MXFP4}},
                         {layer + "ffn_gate_exps.bias", {2, experts, ffn, F32}},
                         {layer + "ffn_up_exps.bias", {2, experts, ffn, F32}},
                         {layer + "ffn_down_exps.bias", {2, experts, hidden, F32}}});
    }
    const auto got = tensors_of(converted.path());
    for (const auto& [name, stored] : expected) {
        ASSERT_TRUE(got.contains(name)) << name;
        const Stored& is = got.at(name);
        EXPECT_EQ(is, stored) << name << ": " << is.dimensions << " dimensions, " << is.rows << " x "
                              << is.columns << ", " << voltpile::llm::name(is.format);
    }
    EXPECT_EQ(got.size(), expected.size());
}

// Compares the value of a key, and removes it from `keys`.
template <class T>
void check_key(const GgufFile& file, const std::string& key, T wanted, std::set<std::string>& keys) {
    const auto value = file.find<T>(key);
    ASSERT_TRUE(value) << key;
    EXPECT_EQ(*value, wanted) << key;
    keys.erase(key);
}

TEST(GptOssFolder, HasTheKeysThatLlamaCppReads) {
    const Converted converted(golden_folder("gpt_oss_mxfp4"), QuantMixture::F16);
    const TensorFiles files = open_gguf(converted.path());
    std::set<std::string> keys;
    for (const GgufEntry& entry : gguf_entries(files.files.front()->bytes(), converted.path()))
        keys.emplace(entry.key);
    for (const auto& [key, value] : std::map<std::string, std::string_view>{
             {"general.architecture", "gpt-oss"},
             {"general.type", "model"},
             {"general.name", "gpt_oss_mxfp4"},
             {"gpt-oss.rope.scaling.type", "yarn"},
         })
        check_key(*files.gguf, key, value, keys);
    for (const auto& [key, value] : std::map<std::string, std::uint64_t>{
             {"general.file_type", 38},
             {"general.quantization_version", 2},
             {"gpt-oss.block_count", 2},
             {"gpt-oss.context_length", 256},
             {"gpt-oss.embedding_length", 64},
             {"gpt-oss.feed_forward_length", 128},
             {"gpt-oss.vocab_size", 288},
             {"gpt-oss.attention.head_count", 4},
             {"gpt-oss.attention.head_count_kv", 2},
             {"gpt-oss.attention.key_length", 32},
             {"gpt-oss.attention.value_length", 32},
             {"gpt-oss.attention.sliding_window", 24},
             {"gpt-oss.expert_count", 9},
             {"gpt-oss.expert_used_count", 4},
             {"gpt-oss.expert_feed_forward_length", 128},
             {"gpt-oss.rope.dimension_count", 32},
             {"gpt-oss.rope.scaling.original_context_length", 32},
         })
        check_key(*files.gguf, key, value, keys);
    for (const auto& [key, value] : std::map<std::string, double>{
             {"gpt-oss.attention.layer_norm_rms_epsilon", static_cast<double>(1e-5F)},
             {"gpt-oss.rope.freq_base", 500},
             {"gpt-oss.rope.scaling.factor", 8},
             {"gpt-oss.rope.scaling.yarn_beta_fast", 32},
             {"gpt-oss.rope.scaling.yarn_beta_slow", 1},
         })
        check_key(*files.gguf, key, value, keys);
    EXPECT_EQ(keys, std::set<std::string>());
}

// A file that GGUF's own package wrote has the same experts and biases.
TEST(GptOssFolder, HasTheNumbersOfTheFileThatGgufsPackageWrites) {
    const Converted converted(golden_folder("gpt_oss_mxfp4"), QuantMixture::F16);
    const ModelFiles got(converted.path()), expected(golden_folder("gpt_oss_mxfp4") + "/model.gguf");
    int compared = 0;
    for (const ModelTensor& tensor : expected.tensors()) {
        const ModelTensor& same = got.tensor(tensor.name);
        if (same.format != tensor.format) continue;  // matrices that are not experts have F32 there
        EXPECT_EQ(bytes_of(got, same), bytes_of(expected, tensor)) << tensor.name;
        ++compared;
    }
    EXPECT_EQ(compared, 2 * (3 * 9 + 12) + 1);
    EXPECT_EQ(got.config().layer_slides, expected.config().layer_slides);
    EXPECT_EQ(got.config().rope_scaling, expected.config().rope_scaling);
    EXPECT_EQ(got.config().blocks, expected.config().blocks);
}

TEST(GptOssFolder, KeepsExpertsInMxfp4InAllFormats) {
    const std::string folder = golden_folder("gpt_oss_mxfp4");
    const ModelFiles original(folder);
    for (const QuantMixtureInfo& entry : kWrittenMixtures) {
        const Converted converted(folder, entry.mixture);
        const ModelFiles got(converted.path());
        for (const ModelTensor& tensor : original.tensors()) {
            if (tensor.expert != 0 && tensor.expert != 8) continue;
            EXPECT_EQ(bytes_of(got, got.tensor(tensor.name)), bytes_of(original, tensor))
                << entry.name << ' ' << tensor.name;
        }
        EXPECT_EQ(converted.result().tensors.at(WeightFormat::MXFP4), 2 * 3) << entry.name;
        EXPECT_EQ(got.gguf()->find<std::uint64_t>("general.file_type"), 38u) << entry.name;
    }
}

// Errors of Q8_0, 0.5 % of the weights, make some tokens choose another expert. Of the folder in MXFP4 the
// experts have none.
constexpr double kMostInQ8 = 5e-2;
constexpr double kMostInQ8WithMxfp4 = 1e-2;

TEST(GptOssFolder, HasAboutTheLogitsOfTheFolderInQ8) {
    EXPECT_LT(Converted(golden_folder("gpt_oss"), QuantMixture::Q8_0).error("gpt_oss"), kMostInQ8);
    EXPECT_LT(Converted(golden_folder("gpt_oss_mxfp4"), QuantMixture::Q8_0).error("gpt_oss_mxfp4"),
              kMostInQ8WithMxfp4);
}

TEST(GptOssFolder, QuantizesStacksOfNumbers) {
    const Converted converted(golden_folder("gpt_oss"), QuantMixture::Q4_0);
    const auto tensors = tensors_of(converted.path());
    EXPECT_EQ(tensors.at("blk.1.ffn_gate_exps.weight"), (Stored{3, 768, 64, WeightFormat::Q4_0}));
    EXPECT_EQ(tensors.at("blk.1.ffn_down_exps.weight"), (Stored{3, 384, 128, WeightFormat::Q4_0}));
    EXPECT_GT(converted.result().worst_error, 0.05);
    EXPECT_LT(converted.result().worst_error, 0.1);
}

TEST(GptOssFolder, CopiesStacksOfNumbersInTheirOwnFormat) {
    const std::string folder = golden_folder("gpt_oss");
    const Converted converted(folder, QuantMixture::F16);
    const ModelFiles original(folder), got(converted.path());
    for (const ModelTensor& tensor : original.tensors()) {
        if (tensor.expert < 0) continue;
        EXPECT_EQ(bytes_of(got, got.tensor(tensor.name)), bytes_of(original, tensor)) << tensor.name;
    }
}

TEST(GptOssFolder, GivesTheSameFileWithOneThreadAndSeveral) {
    for (const char* name : {"gpt_oss", "gpt_oss_mxfp4"}) {
        const std::string one = Converted(golden_folder(name), QuantMixture::Q5_0).bytes();
        EXPECT_EQ(Converted(golden_folder(name), QuantMixture::Q5_0, nullptr, 5).bytes(), one) << name;
    }
}

// Files have no keys for these parts, and readers assume the values of the published models.
TEST(GptOssFolder, NamesWhatFilesCannotSay) {
    const std::string original = golden_folder("gpt_oss_mxfp4");
    std::ifstream in(original + "/config.json");
    const std::string config(std::istreambuf_iterator<char>(in), {});
    const auto message_with = [&](const std::string& from, const std::string& to) {
        const test_files::TestFolder folder("quantize_gpt_oss_lost");
        std::filesystem::copy_file(original + "/model.safetensors", folder / "model.safetensors");
        const std::size_t at = config.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        if (at != std::string::npos)
            folder.write("config.json", std::string(config).replace(at, from.size(), to));
        return message_of([&] { open_folder_input(ModelFiles(folder.path())); });
    };
    const std::string lost = "GGUF files of gpt-oss models have no keys for this model's ";
    EXPECT_EQ(test_files::missing(lost + "sliding window",
                                  message_with("\"sliding_attention\"", "\"full_attention\"")),
              "");
    EXPECT_EQ(test_files::missing(lost + "RoPE", message_with("\"truncate\": false", "\"truncate\": true")),
              "");
}

TEST(GptOssFile, KeepsExpertsInMxfp4) {
    const std::string path = golden_folder("gpt_oss_mxfp4") + "/model.gguf";
    const Converted converted(path, QuantMixture::Q8_0);
    EXPECT_EQ(converted.result().tensors.at(WeightFormat::MXFP4), 2 * 3);
    EXPECT_LT(converted.error("gpt_oss_mxfp4"), kMostInQ8WithMxfp4);
}

TEST(GptOssFolder, IsCalibratedWithItsStacks) {
    const ModelFiles model(golden_folder("gpt_oss"));
    const Golden golden = load_golden("gpt_oss");
    const ImportanceMatrix importance = calibrate(model, golden.tokens, -1, 1, [](std::int64_t) {});
    const std::vector<float>& up = importance.columns.at("blk.1.ffn_up_exps.weight");
    ASSERT_EQ(up.size(), 6u * 64);
    EXPECT_EQ(importance.columns.at("blk.1.ffn_gate_exps.weight"), up);
    EXPECT_EQ(importance.columns.at("blk.1.ffn_down_exps.weight").size(), 6u * 128);
    EXPECT_GT(std::ranges::max(up), 1.5F * std::ranges::min(up));
}

}  // namespace
}  // namespace voltpile::llm
