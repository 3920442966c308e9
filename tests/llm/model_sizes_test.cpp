// Descriptions of all sizes of a family, as in their published config.json files, and the numbers of weights
// that the model cards state.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "llm/model/hf_config.h"
#include "llm/model/model_family.h"
#include "llm/model/tensor_table.h"

namespace voltpile::llm::model_sizes_test {
namespace {

struct Size {
    double billions;
    int hidden, ffn, layers, heads, kv_heads, vocab;
    bool tied;
};

double billions_of(const ModelConfig& config) {
    double weights = 0;
    for (const ModelTensor& tensor : tensor_table(config))
        weights += static_cast<double>(tensor.rows) * static_cast<double>(tensor.columns);
    return weights * 1e-9;
}

ModelConfig config_of(const Size& size, const std::string& more) {
    const std::string text = fmt::format(
        R"({{"hidden_size": {}, "intermediate_size": {}, "num_hidden_layers": {}, "num_attention_heads": {},
            "num_key_value_heads": {}, "vocab_size": {}, "tie_word_embeddings": {}, "hidden_act": "silu",
            "max_position_embeddings": 32768, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, {}}})",
        size.hidden, size.ffn, size.layers, size.heads, size.kv_heads, size.vocab, size.tied, more);
    return config_from_json(nlohmann::json::parse(text), "config.json");
}

TEST(ModelSizes, Qwen25) {
    // The window of max_window_layers is off in all of them.
    for (const Size& size : {Size{0.49, 896, 4864, 24, 14, 2, 151936, true},
                             {1.54, 1536, 8960, 28, 12, 2, 151936, true},
                             {3.09, 2048, 11008, 36, 16, 2, 151936, true},
                             {7.62, 3584, 18944, 28, 28, 4, 152064, false},
                             {14.77, 5120, 13824, 48, 40, 8, 152064, false},
                             {32.76, 5120, 27648, 64, 40, 8, 152064, false},
                             {72.71, 8192, 29568, 80, 64, 8, 152064, false}}) {
        const ModelConfig config =
            config_of(size, R"("model_type": "qwen2", "sliding_window": 131072, "max_window_layers": 21,
                     "use_sliding_window": false)");
        EXPECT_NEAR(billions_of(config), size.billions, 0.006);
        EXPECT_TRUE(config.blocks.qkv_bias);
        EXPECT_EQ(config.head_dim, size.hidden / size.heads);
        EXPECT_EQ(config.sliding_window, 0);
    }
}

TEST(ModelSizes, Qwen3) {
    for (const Size& size : {Size{0.60, 1024, 3072, 28, 16, 8, 151936, true},
                             {1.72, 2048, 6144, 28, 16, 8, 151936, true},
                             {4.02, 2560, 9728, 36, 32, 8, 151936, true},
                             {8.19, 4096, 12288, 36, 32, 8, 151936, false},
                             {14.77, 5120, 17408, 40, 40, 8, 151936, false},
                             {32.76, 5120, 25600, 64, 64, 8, 151936, false}}) {
        const ModelConfig config = config_of(
            size, R"("model_type": "qwen3", "head_dim": 128, "attention_bias": false, "sliding_window": null,
                     "max_window_layers": 28, "use_sliding_window": false)");
        EXPECT_NEAR(billions_of(config), size.billions, 0.006);
        EXPECT_EQ(config.blocks.qk_norm, QkNorm::Heads);
        EXPECT_EQ(config.head_dim, 128);
    }
}

// Mistral-Small-24B-Instruct-2501: heads of 128 elements, fewer together than the hidden size, and no window.
TEST(ModelSizes, MistralSmall3) {
    const Size size{23.57, 5120, 32768, 40, 32, 8, 131072, false};
    const ModelConfig config = config_of(
        size, R"("model_type": "mistral", "head_dim": 128, "sliding_window": null, "bos_token_id": 1,
                 "eos_token_id": 2)");
    EXPECT_NEAR(billions_of(config), size.billions, 0.006);
    EXPECT_EQ(config.head_dim, 128);
    EXPECT_EQ(config.sliding_window, 0);
    EXPECT_TRUE(config.layer_slides.empty());
    // The newer ones read images, too.
    const ModelConfig with_images = config_from_json(nlohmann::json::parse(R"({"model_type": "mistral3",
        "vision_config": {"model_type": "pixtral"}, "spatial_merge_size": 2, "text_config": {
        "model_type": "mistral", "head_dim": 128, "hidden_act": "silu", "hidden_size": 5120,
        "intermediate_size": 32768, "max_position_embeddings": 131072, "num_attention_heads": 32,
        "num_hidden_layers": 40, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 1000000000.0,
        "sliding_window": null, "vocab_size": 131072}})"),
                                                     "config.json");
    EXPECT_EQ(with_images.family->name, "Mistral");
    EXPECT_EQ(with_images.rope_theta, 1e9);
    EXPECT_NEAR(billions_of(with_images), size.billions, 0.006);
}

}  // namespace
}  // namespace voltpile::llm::model_sizes_test
