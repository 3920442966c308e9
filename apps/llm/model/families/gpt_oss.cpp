// gpt-oss: a mixture of experts with biases, attention sinks, windows in every other layer, and a clamped
// gate.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "llm/model/model_family.h"

namespace voltpile::llm {
namespace {

constexpr std::array kGptOssNames = {
    TensorName{"self_attn.sinks", "attn_sinks.weight"},
    TensorName{"self_attn.o_proj.bias", "attn_output.bias"},
    TensorName{"mlp.router.weight", "ffn_gate_inp.weight"},
    TensorName{"mlp.router.bias", "ffn_gate_inp.bias"},
    TensorName{"mlp.experts.down_proj_bias", "ffn_down_exps.bias"},
};
constexpr std::array kGptOssGgufNames = {TensorName{"post_attention_norm.weight", "ffn_norm.weight"}};
constexpr std::array<std::string_view, 2> kGptOssEnds = {"<|return|>", "<|call|>"};

// Layers 0, 2, 4... slide.
void slide_every_other_layer(std::int64_t window, ModelConfig& config) {
    std::vector<bool> slides = each_layer(config, true);
    for (std::size_t i = 1; i < slides.size(); i += 2) slides[i] = false;
    set_window(config, window, slides);
}

void read_gpt_oss(const JsonKeys& keys, ModelConfig& config) {
    config.experts.count = keys.required_integer("num_local_experts");
    config.experts.used = keys.required_integer("num_experts_per_tok");
    config.experts.ffn = config.ffn;
    for (const auto& [key, supported] : {std::pair{"swiglu_limit", 7.0}, {"swiglu_alpha", 1.702}})
        if (const auto value = keys.real(key); value && *value != supported)
            keys.fail(fmt::format("\"{}\": {} is not supported (supported: {})", key, *value, supported));
    config.blocks.qkv_bias = config.blocks.output_bias = keys.boolean("attention_bias").value_or(true);
    const auto window = keys.integer("sliding_window");
    if (!window) return;
    if (!keys.find("layer_types")) return slide_every_other_layer(*window, config);
    const std::vector<bool> slides = sliding_layers(keys, config);
    if (slides.empty()) keys.fail("\"layer_types\" does not have one entry for each layer");
    set_window(config, *window, slides);
}

// The files do not say that YaRN's bounds are not rounded.
void read_gpt_oss_gguf(const GgufKeys& keys, ModelConfig& config) {
    slide_every_other_layer(keys.integer("attention.sliding_window"), config);
    config.rope_scaling.truncated = false;
}

}  // namespace

extern const ModelFamily kGptOss;
const ModelFamily kGptOss = {
    .name = "gpt-oss",
    .supported = "gpt-oss",
    .model_type = "gpt_oss",
    .architecture = "gpt-oss",
    .mixture = true,
    .alternates_gate_and_up = true,
    .normalized_experts = true,
    .blocks = {.qkv_bias = true,
               .output_bias = true,
               .sinks = true,
               .expert_biases = true,
               .activation = Activation::ClampedSwiglu},
    .folder_defaults = R"({"head_dim": 64, "num_key_value_heads": 8, "max_position_embeddings": 131072,
        "rms_norm_eps": 1e-05, "sliding_window": 128, "rope_theta": 150000.0})",
    .names = kGptOssNames,
    .gguf_names = kGptOssGgufNames,
    .end_texts = kGptOssEnds,
    .read_folder = read_gpt_oss,
    .read_gguf = read_gpt_oss_gguf,
};

}  // namespace voltpile::llm
