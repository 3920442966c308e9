// Model descriptions from metadata like that of published files.
#include "llm/model/model_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/error.h"
#include "llm/decoder/rope_frequencies.h"
#include "llm/model/gguf_config.h"
#include "llm/model/hf_config.h"
#include "llm/model/model_family.h"
#include "model_test_files.h"

namespace voltpile::llm::model_config_test {
namespace {

using test_files::bytes_of;
using test_files::GgufBytes;
using test_files::missing;
using test_files::TestFolder;

const std::string kSizes =
    R"("num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 8, "num_key_value_heads": 2,
       "intermediate_size": 128, "vocab_size": 100, "max_position_embeddings": 131072, "rms_norm_eps": 1e-05)";

ModelConfig config_of(const std::string& type, const std::string& more = "") {
    const TestFolder folder("hf_config");
    folder.write("config.json",
                 "{\"model_type\": \"" + type + "\", " + kSizes + (more.empty() ? "" : ", " + more) + "}");
    return config_from_folder(folder.path());
}

std::string message_for(const std::string& type, const std::string& more) {
    try {
        (void)config_of(type, more);
    } catch (const FileError& error) {
        EXPECT_EQ(error.exit_code(), ExitCode::BadInput);
        return error.what();
    }
    return "no error";
}

TEST(HfConfig, ReadsLlama31) {
    const ModelConfig config = config_of("llama", R"("bos_token_id": 1, "eos_token_id": [2, 8, 9],
        "rope_theta": 500000.0, "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192, "rope_type": "llama3"})");
    EXPECT_EQ(config.family->name, "Llama");
    EXPECT_EQ(config.head_dim, 8);
    EXPECT_EQ(config.rope_theta, 500000);
    EXPECT_EQ(config.rope_style, RopeStyle::HalfSplit);
    EXPECT_EQ(config.rope_scaling, (RopeScaling{RopeScalingKind::Llama3, 8, 8192, 1, 4}));
    EXPECT_EQ(config.eos_ids, (std::vector<std::int64_t>{2, 8, 9}));
    EXPECT_TRUE(config.add_bos);
    EXPECT_FALSE(config.blocks.qkv_bias);
    EXPECT_FALSE(config.tied_embeddings);
}

TEST(HfConfig, ReadsRopeParametersOfTransformers5) {
    const ModelConfig config =
        config_of("llama", R"("rope_parameters": {"rope_theta": 1e6, "rope_type": "linear", "factor": 2})");
    EXPECT_EQ(config.rope_theta, 1e6);
    EXPECT_EQ(config.rope_scaling, (RopeScaling{RopeScalingKind::Linear, 2, 131072}));
}

TEST(HfConfig, MistralHasASlidingWindow) {
    const ModelConfig config = config_of("mistral", R"("sliding_window": 4096)");
    EXPECT_EQ(config.sliding_window, 4096);
    EXPECT_EQ(config.layer_slides, std::vector<bool>(4, true));
    EXPECT_EQ(config_of("mistral", R"("sliding_window": null)").sliding_window, 0);
}

TEST(HfConfig, QwenSlidesOnlyIfEnabled) {
    const std::string window = R"("sliding_window": 131072, "max_window_layers": 3, "use_sliding_window": )";
    const ModelConfig config = config_of("qwen2", window + "false");
    EXPECT_TRUE(config.blocks.qkv_bias);
    EXPECT_EQ(config.sliding_window, 0);
    EXPECT_TRUE(config.layer_slides.empty());
    EXPECT_EQ(config_of("qwen2", window + "true").layer_slides,
              (std::vector<bool>{false, false, false, true}));
    const ModelConfig yarn = config_of("qwen2", R"("rope_scaling": {"type": "yarn", "factor": 4.0,
        "original_max_position_embeddings": 32768})");
    EXPECT_EQ(yarn.rope_scaling, (RopeScaling{RopeScalingKind::Yarn, 4, 32768}));
}

TEST(HfConfig, Qwen3SetsTheHeadDimension) {
    const ModelConfig config = config_of("qwen3", R"("head_dim": 128, "tie_word_embeddings": true)");
    EXPECT_EQ(config.head_dim, 128);
    EXPECT_EQ(config.blocks.qk_norm, QkNorm::Heads);
    EXPECT_FALSE(config.blocks.qkv_bias);
    EXPECT_TRUE(config.tied_embeddings);
}

// As in the published config.json of google/gemma-3-4b-it, which lacks most keys.
TEST(HfConfig, ReadsTheTextModelOfModelsWithImages) {
    const TestFolder folder("hf_images");
    folder.write("config.json", R"({"model_type": "gemma3", "eos_token_id": [1, 106], "vision_config": {},
        "text_config": {"hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text",
        "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024}})");
    const ModelConfig config = config_from_folder(folder.path());
    EXPECT_EQ(config.family->name, "Gemma 3");
    EXPECT_EQ(config.heads, 8);
    EXPECT_EQ(config.kv_heads, 4);
    EXPECT_EQ(config.head_dim, 256);
    EXPECT_EQ(config.vocab, 262208);
    EXPECT_EQ(config.context, 131072);
    EXPECT_EQ(config.rope_theta, 1e6);
    EXPECT_EQ(config.window_rope_theta, 1e4);
    EXPECT_EQ(config.rope_scaling,
              (RopeScaling{.kind = RopeScalingKind::Linear, .factor = 8, .original_context = 131072}));
    EXPECT_EQ(config.sliding_window, 1024);
    EXPECT_EQ(std::ranges::count(config.layer_slides, false), 5);
    EXPECT_FALSE(config.layer_slides[5]);
    EXPECT_TRUE(config.tied_embeddings);
    EXPECT_EQ(config.eos_ids, (std::vector<std::int64_t>{1, 106}));
}

// Numbers of microsoft/Phi-3.5-mini-instruct: sqrt(1 + ln(32) / ln(4096)) = 1.190238.
TEST(HfConfig, LongRopeChoosesFactorsByTheContext) {
    const ModelConfig config = config_of("phi3", R"("original_max_position_embeddings": 4096,
        "rope_scaling": {"type": "longrope", "short_factor": [1, 2, 4, 8], "long_factor": [10, 20, 40, 80]})");
    const RopeFrequencies within = rope_frequencies(config, {}, 4096),
                          beyond = rope_frequencies(config, {}, 4097);
    EXPECT_FLOAT_EQ(within.frequencies[2], 0.01F / 4);
    EXPECT_FLOAT_EQ(beyond.frequencies[2], 0.01F / 40);
    EXPECT_NEAR(within.magnitude, 1.190238, 1e-6);
    EXPECT_EQ(within.magnitude, beyond.magnitude);
    EXPECT_EQ(missing("1 factors of longrope for 4 frequencies",
                      message_for("phi3", R"("rope_scaling": {"type": "longrope", "short_factor": [1],
                          "long_factor": [1, 1, 1, 1]})")),
              "");
}

TEST(HfConfig, ReadsSiblingConfigFiles) {
    const TestFolder folder("hf_beside");
    folder.write("config.json", R"({"model_type": "qwen2", "eos_token_id": 5, )" + kSizes + "}");
    folder.write("generation_config.json", R"({"eos_token_id": [5, 3]})");
    folder.write("tokenizer_config.json", R"({"chat_template": [{"name": "tool_use", "template": "x"},
        {"name": "default", "template": "{{ messages }}"}]})");
    folder.write("tokenizer.json", "{}");
    const ModelConfig config = config_from_folder(folder.path());
    EXPECT_EQ(config.eos_ids, (std::vector<std::int64_t>{5, 3}));
    EXPECT_EQ(config.chat_template, "{{ messages }}");
    EXPECT_EQ(config.tokenizer.kind, TokenizerKind::TokenizerJson);
    folder.write("chat_template.jinja", "{{ newer }}");
    EXPECT_EQ(config_from_folder(folder.path()).chat_template, "{{ newer }}");
}

TEST(HfConfig, NamesUnsupportedFeatures) {
    EXPECT_EQ(missing("type \"gemma\" are not supported (supported: Llama", message_for("gemma", "\"x\": 1")),
              "");
    const auto quantized = [](const std::string& keys) {
        return message_for("llama", R"("quantization_config": {)" + keys + "}");
    };
    EXPECT_EQ(missing("quantized by hqq, which is not supported (supported: GPTQ with 4 or 8 bits",
                      quantized(R"("quant_method": "hqq")")),
              "");
    EXPECT_EQ(
        missing("GPTQ with 3 bits", quantized(R"("quant_method": "gptq", "bits": 3, "group_size": 128)")),
        "");
    EXPECT_EQ(
        missing("\"group_size\": 0 is", quantized(R"("quant_method": "gptq", "bits": 4, "group_size": 0)")),
        "");
    EXPECT_EQ(missing("format marlin", quantized(R"("quant_method": "gptq", "bits": 4, "group_size": 128,
                                                    "checkpoint_format": "marlin")")),
              "");
    EXPECT_EQ(missing("AWQ in version gemv", quantized(R"("quant_method": "awq", "version": "GEMV")")), "");
    EXPECT_EQ(missing("format \"nvfp4-pack-quantized\"",
                      quantized(R"("quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized")")),
              "");
    EXPECT_EQ(missing("quantized by bitsandbytes",
                      quantized(R"("quant_method": "bitsandbytes", "load_in_8bit": true)")),
              "");
    EXPECT_EQ(missing("\"dynamic\" is not", message_for("llama", R"("rope_scaling": {"type": "dynamic"})")),
              "");
    EXPECT_EQ(missing("\"longrope\" lacks \"short_factor\"",
                      message_for("llama", R"("rope_scaling": {"type": "longrope"})")),
              "");
    EXPECT_EQ(missing("activation gelu", message_for("llama", R"("hidden_act": "gelu")")), "");
    EXPECT_EQ(missing("\"attention_bias\"", message_for("llama", R"("attention_bias": true)")), "");
    EXPECT_EQ(missing("\"rope_theta\" is not a number", message_for("llama", R"("rope_theta": "big")")), "");
    EXPECT_EQ(missing("not in the vocabulary", message_for("llama", R"("eos_token_id": 100)")), "");
    EXPECT_EQ(missing("factor of rope scaling is 0",
                      message_for("llama", R"("rope_scaling": {"type": "linear", "factor": 0})")),
              "");
    EXPECT_EQ(missing("RoPE scaling \"linear\" lacks \"factor\"",
                      message_for("llama", R"("rope_scaling": {"type": "linear"})")),
              "");
    for (const std::string key :
         {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}) {
        nlohmann::json scaling{{"rope_type", "llama3"},
                               {"factor", 8},
                               {"low_freq_factor", 1},
                               {"high_freq_factor", 4},
                               {"original_max_position_embeddings", 8192}};
        scaling.erase(key);
        EXPECT_EQ(missing("\"llama3\" lacks \"" + key + "\"",
                          message_for("llama", "\"rope_scaling\": " + scaling.dump())),
                  "");
    }
}

constexpr std::uint32_t kUint32 = 4, kFloat32 = 6, kString = 8;

// A file with the metadata of an architecture, `extra` further entries, and a 100 x 64 embedding.
std::string gguf(const std::string& architecture, std::uint64_t extra_entries, const GgufBytes& extra) {
    GgufBytes file;
    file.begin(1, 8 + extra_entries).key("general.architecture", kString).text(architecture);
    const auto number = [&](const char* key, std::uint32_t value) {
        file.key(architecture + "." + key, kUint32).number(value);
    };
    number("block_count", 4);
    number("embedding_length", 64);
    number("attention.head_count", 8);
    number("attention.head_count_kv", 2);
    number("feed_forward_length", 128);
    number("context_length", 8192);
    file.key(architecture + ".attention.layer_norm_rms_epsilon", kFloat32).number(0.5f);
    file.raw(extra.str()).tensor("token_embd.weight", {64, 100}, 0, 0).pad().zeros(25600);
    return file.str();
}

ModelConfig gguf_config(const std::string& architecture, std::uint64_t entries = 0,
                        const GgufBytes& extra = {}) {
    const std::string bytes = gguf(architecture, entries, extra);
    const GgufFile file(bytes_of(bytes), "x.gguf");
    return config_from_gguf(file, file.tensors());
}

TEST(GgufConfig, LlamaIsInterleavedAndQwenHalfSplit) {
    const ModelConfig llama = gguf_config("llama");
    EXPECT_EQ(llama.family->name, "Llama");
    EXPECT_EQ(llama.rope_style, RopeStyle::Interleaved);
    EXPECT_EQ(llama.head_dim, 8);
    EXPECT_EQ(llama.vocab, 100);
    EXPECT_EQ(llama.rms_eps, 0.5);
    EXPECT_EQ(llama.rope_theta, 10000);
    EXPECT_TRUE(llama.tied_embeddings);
    const ModelConfig qwen =
        gguf_config("qwen3", 1, GgufBytes().key("qwen3.attention.key_length", kUint32).number(16u));
    EXPECT_EQ(qwen.family->name, "Qwen 3");
    EXPECT_EQ(qwen.rope_style, RopeStyle::HalfSplit);
    EXPECT_EQ(qwen.head_dim, 16);
    EXPECT_EQ(qwen.blocks.qk_norm, QkNorm::Heads);
}

TEST(GgufConfig, MistralIsKnownByItsName) {
    EXPECT_EQ(
        gguf_config("llama", 1, GgufBytes().key("general.name", kString).text("Mistral 7B")).family->name,
        "Mistral");
}

TEST(GgufConfig, RotatesAPartOfEachHead) {
    const ModelConfig config =
        gguf_config("llama", 1, GgufBytes().key("llama.rope.dimension_count", kUint32).number(4u));
    EXPECT_EQ(config.rope_dims, 4);
    EXPECT_EQ(rope_frequencies(config, {}, 1).frequencies, (std::vector<float>{1.0F, 0.01F}));
}

TEST(GgufConfig, ReadsRopeScalingAndTokens) {
    GgufBytes extra;
    extra.key("llama.rope.scaling.type", kString).text("yarn");
    extra.key("llama.rope.scaling.factor", kFloat32).number(4.0f);
    extra.key("llama.rope.scaling.original_context_length", kUint32).number(2048u);
    extra.key("tokenizer.ggml.model", kString).text("gpt2");
    extra.key("tokenizer.ggml.pre", kString).text("llama-bpe");
    extra.key("tokenizer.ggml.bos_token_id", kUint32).number(3u);
    extra.key("tokenizer.ggml.eos_token_id", kUint32).number(4u);
    extra.key("tokenizer.ggml.eot_token_id", kUint32).number(5u);
    const ModelConfig config = gguf_config("llama", 8, extra);
    EXPECT_EQ(config.rope_scaling, (RopeScaling{RopeScalingKind::Yarn, 4, 2048}));
    EXPECT_EQ(config.bos_id, 3);
    EXPECT_TRUE(config.add_bos);
    EXPECT_EQ(config.eos_ids, (std::vector<std::int64_t>{4, 5}));
    EXPECT_EQ(config.tokenizer.description, "gpt2 (llama-bpe)");
}

RopeScaling gguf_scaling(std::initializer_list<std::pair<const char*, float>> keys) {
    GgufBytes extra;
    for (const auto& [key, value] : keys) extra.key(key, kFloat32).number(value);
    return gguf_config("llama", keys.size(), extra).rope_scaling;
}

TEST(GgufConfig, FactorWithoutATypeIsLinearScalingAsInLlamaCpp) {
    const RopeScaling linear{.kind = RopeScalingKind::Linear, .factor = 4};
    EXPECT_EQ(gguf_scaling({{"llama.rope.scaling.factor", 4}}), linear);
    EXPECT_EQ(gguf_scaling({{"llama.rope.scale_linear", 4}}), linear);
    EXPECT_EQ(gguf_scaling({{"llama.rope.scaling.factor", 4}, {"llama.rope.scale_linear", 2}}), linear);
    for (const float factor : {0.0F, 1.0F})
        EXPECT_EQ(gguf_scaling({{"llama.rope.scaling.factor", factor}}), RopeScaling{});
}

TEST(GgufConfig, AttentionFactorScalesCosAndSin) {
    const auto magnitude = [](const std::string& type, std::uint64_t entries, const GgufBytes& more = {}) {
        GgufBytes extra;
        extra.key("llama.rope.scaling.attn_factor", kFloat32).number(1.25F);
        extra.key("llama.rope.scaling.type", kString).text(type);
        extra.key("llama.rope.scaling.factor", kFloat32).number(4.0F);
        return rope_frequencies(gguf_config("llama", 3 + entries, extra.raw(more.str())), {}, 1).magnitude;
    };
    EXPECT_EQ(magnitude("none", 0), 1.25F);
    EXPECT_EQ(magnitude("linear", 0), 1.25F);
    // YaRN's own factor is 0.1 ln 4 + 1 = 1.138629436111989.
    EXPECT_FLOAT_EQ(magnitude("yarn", 0), 1.25F * 1.138629436111989F);
    EXPECT_FLOAT_EQ(
        magnitude("yarn", 1, GgufBytes().key("llama.rope.scaling.yarn_attn_factor", kFloat32).number(0.5F)),
        0.625F * 1.138629436111989F);
}

TEST(GgufConfig, NamesUnsupportedFeatures) {
    const auto message = [](const std::string& architecture, std::uint64_t entries, const GgufBytes& extra) {
        try {
            (void)gguf_config(architecture, entries, extra);
        } catch (const FileError& error) {
            return std::string(error.what());
        }
        return std::string("no error");
    };
    EXPECT_EQ(missing("architecture gemma are not supported", message("gemma", 0, {})), "");
    const auto llama = [&](const char* key, std::uint32_t value) {
        return message("llama", 1, GgufBytes().key(key, kUint32).number(value));
    };
    EXPECT_EQ(missing("the metadata has no llama.expert_used_count", llama("llama.expert_count", 8)), "");
    EXPECT_EQ(
        missing("rotated elements of a head is 10, not from 2 to 8", llama("llama.rope.dimension_count", 10)),
        "");
    EXPECT_EQ(missing("llama.nextn_predict_layers is 1, but Llama has no layers that predict further tokens",
                      llama("llama.nextn_predict_layers", 1)),
              "");
    EXPECT_EQ(missing("heads of V have length 4", llama("llama.attention.value_length", 4)), "");
    EXPECT_EQ(missing("the head dimension is 5000", llama("llama.attention.key_length", 5000)), "");
    EXPECT_EQ(
        missing("rope_factors_short.weight is missing",
                message("llama", 1, GgufBytes().key("llama.rope.scaling.type", kString).text("longrope"))),
        "");
}

}  // namespace
}  // namespace voltpile::llm::model_config_test
