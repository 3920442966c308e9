// Descriptions, tensors and sizes of models with latent attention.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "llm/decoder/kv_cache.h"
#include "llm/decoder/rope_frequencies.h"
#include "llm/model/model_family.h"
#include "llm/model/model_files.h"
#include "llm/model/model_memory.h"
#include "llm/model/synthetic_model.h"
#include "llm/model/tensor_parallel.h"
#include "model_test_files.h"

namespace voltpile::llm::model_latent_test {
namespace {

using test_files::missing;
using test_files::TestFolder;

std::string golden(const std::string& name) {
    return std::string(VOLTPILE_SOURCE_DIR) + "/data/llm/goldens/" + name;
}

// Both forms of GGUF files, and folders, describe the same attention.
TEST(LatentAttention, ReadsSizesAndScales) {
    for (const std::string name : {"deepseek_v2", "deepseek_v3"})
        for (const std::string file : {"", "/model.gguf"}) {
            SCOPED_TRACE(name + file);
            const ModelFiles files(golden(name) + file);
            const ModelConfig& config = files.config();
            EXPECT_EQ(config.family->name, name == "deepseek_v2" ? "DeepSeek V2" : "DeepSeek V3");
            EXPECT_EQ(config.latent.kv_rank, 32);
            EXPECT_EQ(config.latent.q_rank, name == "deepseek_v2" ? 0 : 48);
            EXPECT_EQ(config.latent.plain_dim, 16);
            EXPECT_EQ(config.latent.value_dim, 24);
            EXPECT_EQ(config.latent.split, name == "deepseek_v2" && file != "");
            EXPECT_EQ(config.rope_dims, 8);
            EXPECT_EQ(config.head_dim, 40);
            EXPECT_EQ(config.kv_heads, 1);
            EXPECT_EQ(config.rope_style, RopeStyle::Interleaved);
            // DeepSeek's modeling_deepseek.py: softmax_scale * mscale^2, mscale = 0.1 m ln(factor) + 1.
            const double mscale = 0.1 * (name == "deepseek_v2" ? 0.707 : 1) * std::log(8.0) + 1;
            EXPECT_NEAR(config.attention_scale, mscale * mscale / std::sqrt(24.0), 1e-7);
            EXPECT_EQ(rope_frequencies(config, {}, 256).magnitude, 1);
        }
}

// Cosine and sine are multiplied by the quotient of two mscale where these differ.
TEST(LatentAttention, ScalesCosineAndSine) {
    const ModelFiles files(golden("deepseek_v2_groups"));
    const double log = 0.1 * std::log(8.0);
    EXPECT_NEAR(rope_frequencies(files.config(), {}, 256).magnitude, (log + 1) / (0.5 * log + 1), 1e-6);
}

TEST(LatentAttention, NamesWhatContradictsTheConfig) {
    const auto message = [](const std::string& from, const std::string& to) -> std::string {
        const TestFolder folder("latent");
        std::ifstream file(golden("deepseek_v3") + "/config.json");
        std::string text(std::istreambuf_iterator<char>(file), {});
        EXPECT_NE(text.find(from), std::string::npos);
        folder.write("config.json", text.replace(text.find(from), from.size(), to));
        std::filesystem::copy(golden("deepseek_v3") + "/model.safetensors", folder.path());
        try {
            const ModelFiles files(folder.path());
        } catch (const FileError& error) {
            EXPECT_EQ(error.exit_code(), ExitCode::BadInput);
            return error.what();
        }
        return "no error";
    };
    EXPECT_EQ(missing("blk.0.attn_kv_a_mqa.weight is 40 x 64 instead of 72 x 64",
                      message("\"kv_lora_rank\": 32", "\"kv_lora_rank\": 64")),
              "");
    EXPECT_EQ(missing("\"kv_lora_rank\" is 0", message("\"kv_lora_rank\": 32", "\"kv_lora_rank\": 0")), "");
    EXPECT_EQ(
        missing("the size of a head of values is -8", message("\"v_head_dim\": 24", "\"v_head_dim\": -8")),
        "");
    EXPECT_EQ(
        missing("blk.0.attn_q.weight is missing", message("\"q_lora_rank\": 48", "\"q_lora_rank\": null")),
        "");
    EXPECT_EQ(missing("\"num_key_value_heads\" is 2, not the 4",
                      message("\"num_key_value_heads\": 4", "\"num_key_value_heads\": 2")),
              "");
}

// DeepSeek-V2-Lite: 15.7 billion weights, 2.4 of them for each token, and 512 + 64 numbers in the cache for
// each token and layer (arXiv:2405.04434).
TEST(LatentAttention, CountsWeightsAndCache) {
    const SyntheticModel model("deepseek-v2-lite", "q4_0");
    const WeightBytes bytes = weight_bytes(model);
    EXPECT_NEAR(static_cast<double>(bytes.weights) * 1e-9, 15.7, 0.05);
    EXPECT_NEAR(static_cast<double>(bytes.active) * 1e-9, 2.66, 0.05);  // with embedding and head
    EXPECT_EQ(kv_bytes_per_token_and_layer(model.config()), 2U * (512 + 64));
    const KvCacheShape shape{27, 1, 576, 10, KvElement::F16, true};
    EXPECT_EQ(shape.bytes(), 27U * 10 * kv_page_tokens * 2 * 576);
}

TEST(LatentAttention, TensorParallelCutsHeadsOfAllSizes) {
    const SyntheticModel model("deepseek-v2-lite", "q4_0");
    EXPECT_EQ(tensor_parallel_obstacle(model, 4), "");
    const RankShare share = rank_share(model, 1, 4);  // heads 4 to 7
    EXPECT_EQ(share.kv_heads, (IndexRange{0, 1}));
    const auto stored = [&](const char* name) {
        return tensor_shard(model, model.layer_tensor(3, name), share).stored;
    };
    EXPECT_EQ(stored("attn_q.weight"), (TensorSlice{4 * 192, 8 * 192, 0, 2048}));
    EXPECT_EQ(stored("attn_kv_b.weight"), (TensorSlice{4 * 256, 8 * 256, 0, 512}));
    EXPECT_EQ(stored("attn_kv_a_mqa.weight"), (TensorSlice{0, 576, 0, 2048}));
    EXPECT_EQ(stored("attn_output.weight"), (TensorSlice{0, 2048, 4 * 128, 8 * 128}));
}

// A synthetic model as a GGUF file has the same description and weights.
TEST(LatentAttention, WritesGguf) {
    const TestFolder folder("latent_gguf");
    const SyntheticModel model("tiny-mla", "q8_0");
    model.write_gguf(folder / "tiny.gguf");
    const ModelFiles files(folder / "tiny.gguf");
    EXPECT_EQ(files.config().latent.kv_rank, model.config().latent.kv_rank);
    EXPECT_EQ(files.config().head_dim, model.config().head_dim);
    EXPECT_NEAR(files.config().attention_scale, model.config().attention_scale, 1e-9);
    ASSERT_EQ(files.tensors().size(), model.tensors().size());
    for (const ModelTensor& tensor : model.tensors()) {
        std::vector<std::byte> made(tensor.bytes()), read(tensor.bytes());
        model.read(tensor, whole(tensor), made.data());
        files.read(files.tensor(tensor.name), whole(tensor), read.data());
        EXPECT_EQ(made, read) << tensor.name;
    }
}

}  // namespace
}  // namespace voltpile::llm::model_latent_test
