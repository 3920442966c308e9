// DeepSeek V2 (also Lite) and V3 (also R1): multi-head latent attention, and a mixture of experts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "llm/model/families/grouped_experts.h"
#include "llm/model/gguf_model_keys.h"
#include "llm/model/model_family.h"

namespace voltpile::llm {
namespace {

constexpr std::array kLatentNames = {
    TensorName{"self_attn.q_a_proj.weight", "attn_q_a.weight"},
    TensorName{"self_attn.q_a_layernorm.weight", "attn_q_a_norm.weight"},
    TensorName{"self_attn.q_b_proj.weight", "attn_q_b.weight"},
    TensorName{"self_attn.kv_a_proj_with_mqa.weight", "attn_kv_a_mqa.weight"},
    TensorName{"self_attn.kv_a_layernorm.weight", "attn_kv_a_norm.weight"},
    TensorName{"self_attn.kv_b_proj.weight", "attn_kv_b.weight"},
};
constexpr auto kDeepSeekNames = [] {
    std::array<TensorName, kLatentNames.size() + kGroupedExpertNames.size()> names;
    std::ranges::copy(kGroupedExpertNames, std::ranges::copy(kLatentNames, names.begin()).out);
    return names;
}();

// factor_of_log: what YaRN multiplies by the logarithm of its factor.
void set_latent_attention(ModelConfig& config, std::int64_t rope_dims, double factor_of_log) {
    config.kv_heads = 1;
    config.rope_dims = rope_dims;
    config.head_dim = config.latent.kv_rank + rope_dims;
    const RopeScaling& scaling = config.rope_scaling;
    const double scale = scaling.kind == RopeScalingKind::Yarn && scaling.factor > 1
                             ? 1 + factor_of_log * std::log(scaling.factor)
                             : 1;
    config.attention_scale =
        scale * scale /
        std::sqrt(static_cast<double>(std::max<std::int64_t>(config.latent.plain_dim + rope_dims, 1)));
}

void read_latent_attention(const JsonKeys& keys, ModelConfig& config) {
    if (config.kv_heads != config.heads)
        keys.fail(fmt::format("\"num_key_value_heads\" is {}, not the {} of \"num_attention_heads\"",
                              config.kv_heads, config.heads));
    LatentAttention& latent = config.latent;
    latent.kv_rank = keys.required_integer("kv_lora_rank");
    latent.q_rank = keys.integer("q_lora_rank").value_or(0);
    latent.plain_dim = keys.required_integer("qk_nope_head_dim");
    latent.value_dim = keys.required_integer("v_head_dim");
    if (latent.kv_rank < 1) keys.fail(fmt::format("\"kv_lora_rank\" is {}", latent.kv_rank));
    const auto scaling = keys.object(keys.find("rope_parameters") ? "rope_parameters" : "rope_scaling");
    const double mscale = scaling ? scaling->real("mscale_all_dim").value_or(0) : 0;
    set_latent_attention(config, keys.required_integer("qk_rope_head_dim"), 0.1 * mscale);
}

void read_deepseek2(const JsonKeys& keys, ModelConfig& config) {
    read_latent_attention(keys, config);
    read_grouped_experts(keys, config);
    if (config.experts.normalized) keys.fail("\"norm_topk_prob\": true is not supported");
    const std::string method = keys.text("topk_method").value_or("greedy");
    if (method == "greedy")
        config.experts.groups = config.experts.used_groups = 1;
    else if (method != "group_limited_greedy")
        keys.fail(fmt::format("\"topk_method\" is not supported (supported: greedy, group_limited_greedy)"));
    if (keys.text("scoring_func").value_or("softmax") != "softmax")
        keys.fail("\"scoring_func\" is not supported (supported: softmax)");
}

void read_deepseek3(const JsonKeys& keys, ModelConfig& config) {
    read_latent_attention(keys, config);
    read_grouped_experts(keys, config);
    if (keys.text("topk_method").value_or("noaux_tc") != "noaux_tc")
        keys.fail("\"topk_method\" is not supported (supported: noaux_tc)");
    if (keys.text("scoring_func").value_or("sigmoid") != "sigmoid")
        keys.fail("\"scoring_func\" is not supported (supported: sigmoid)");
    if (!keys.boolean("rope_interleave").value_or(true)) config.rope_style = RopeStyle::HalfSplit;
}

// Newer files have the sizes of heads under keys of their own, and those of the cache under the common keys.
void read_deepseek_gguf(const GgufKeys& keys, ModelConfig& config) {
    LatentAttention& latent = config.latent;
    latent.kv_rank = keys.integer("attention.kv_lora_rank");
    if (latent.kv_rank < 1)
        keys.fail(fmt::format("{} is {}", keys.full("attention.kv_lora_rank"), latent.kv_rank));
    latent.q_rank = keys.find_integer("attention.q_lora_rank").value_or(0);
    const std::int64_t rope_dims = keys.integer("rope.dimension_count");
    const auto size = [&](const char* key) {
        const auto own = keys.find_integer(fmt::format("{}_mla", key));
        return own ? *own : keys.integer(key);
    };
    latent.plain_dim = size("attention.key_length") - rope_dims;
    latent.value_dim = size("attention.value_length");
    // Cosine and sine have no factor, as in models whose mscale equals mscale_all_dim.
    if (config.rope_scaling.kind == RopeScalingKind::Yarn) config.rope_scaling.attention_factor = 1;
    set_latent_attention(config, rope_dims, keys.find_real("rope.scaling.yarn_log_multiplier").value_or(0));
}

// The inverse of set_latent_attention().
void write_deepseek_gguf(const ModelConfig& config, GgufKeyWriter& keys) {
    const RopeScaling& scaling = config.rope_scaling;
    if (scaling.kind != RopeScalingKind::Yarn || scaling.factor <= 1) return;
    const auto head = static_cast<double>(config.latent.plain_dim + config.rope_dims);
    const double scale = std::sqrt(config.attention_scale * std::sqrt(head));
    keys.real("rope.scaling.yarn_log_multiplier", (scale - 1) / std::log(scaling.factor));
}

}  // namespace

extern const ModelFamily kDeepSeek2, kDeepSeek3;
const ModelFamily kDeepSeek2 = {
    .name = "DeepSeek V2",
    .supported = "DeepSeek V2 (also Lite)",
    .model_type = "deepseek_v2",
    .architecture = "deepseek2",
    .mixture = true,
    .latent_attention = true,
    .predicts = true,
    .rope_in_folder = RopeStyle::Interleaved,
    .rope_in_gguf = RopeStyle::Interleaved,
    .begins_with_bos = true,
    .names = kDeepSeekNames,
    .read_folder = read_deepseek2,
    .read_gguf = read_deepseek_gguf,
    .write_gguf = write_deepseek_gguf,
};
const ModelFamily kDeepSeek3 = {
    .name = "DeepSeek V3",
    .supported = "DeepSeek V3 and R1",
    .model_type = "deepseek_v3",
    .architecture = "deepseek2",
    .word_in_gguf_name = "v3",
    .mixture = true,
    .normalized_experts = true,
    .sigmoid_router = true,
    .latent_attention = true,
    .predicts = true,
    .rope_in_folder = RopeStyle::Interleaved,
    .rope_in_gguf = RopeStyle::Interleaved,
    .begins_with_bos = true,
    .names = kDeepSeekNames,
    .read_folder = read_deepseek3,
    .read_gguf = read_deepseek_gguf,
    .write_gguf = write_deepseek_gguf,
};

}  // namespace voltpile::llm
