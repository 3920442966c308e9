// Mixtures of experts: Mixtral, Qwen 2 and Qwen 3 with experts, OLMoE. The names of experts have their number
// in place of the star.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "llm/model/model_family.h"

namespace voltpile::llm {
namespace {

constexpr std::array kMixtralNames = {
    TensorName{"block_sparse_moe.gate.weight", "ffn_gate_inp.weight"},
    TensorName{"block_sparse_moe.experts.*.w1.weight", "ffn_gate.*.weight"},
    TensorName{"block_sparse_moe.experts.*.w3.weight", "ffn_up.*.weight"},
    TensorName{"block_sparse_moe.experts.*.w2.weight", "ffn_down.*.weight"},
    TensorName{"mlp.gate.weight", "ffn_gate_inp.weight"},  // in transformers 5, and so in its adapters
};
constexpr std::array kExpertNames = {
    TensorName{"mlp.gate.weight", "ffn_gate_inp.weight"},
    TensorName{"mlp.experts.*.gate_proj.weight", "ffn_gate.*.weight"},
    TensorName{"mlp.experts.*.up_proj.weight", "ffn_up.*.weight"},
    TensorName{"mlp.experts.*.down_proj.weight", "ffn_down.*.weight"},
    TensorName{"mlp.shared_expert_gate.weight", "ffn_gate_inp_shexp.weight"},
    TensorName{"mlp.shared_expert.gate_proj.weight", "ffn_gate_shexp.weight"},
    TensorName{"mlp.shared_expert.up_proj.weight", "ffn_up_shexp.weight"},
    TensorName{"mlp.shared_expert.down_proj.weight", "ffn_down_shexp.weight"},
};

// The key of the experts' size differs: OLMoE and Mixtral have intermediate_size.
void read_experts(const JsonKeys& keys, const char* count, const char* size, ModelConfig& config) {
    config.experts.count = keys.required_integer(count);
    config.experts.used = keys.required_integer("num_experts_per_tok");
    config.experts.ffn = keys.required_integer(size);
}

void read_mixtral(const JsonKeys& keys, ModelConfig& config) {
    read_experts(keys, "num_local_experts", "intermediate_size", config);
    if (const auto window = keys.integer("sliding_window"))
        set_window(config, *window, each_layer(config, true));
}

// Every decoder_sparse_step-th layer has experts, unless mlp_only_layers lists it.
void read_dense_layers(const JsonKeys& keys, ModelConfig& config) {
    const std::int64_t step = keys.integer("decoder_sparse_step").value_or(1);
    if (step < 1) keys.fail(fmt::format("\"decoder_sparse_step\" is {}, not a positive number", step));
    std::vector<bool> dense = each_layer(config, false);
    for (std::size_t i = 0; i < dense.size(); ++i) dense[i] = static_cast<std::int64_t>(i + 1) % step != 0;
    for (const std::int64_t layer : keys.integers("mlp_only_layers")) {
        if (layer < 0 || layer >= std::ssize(dense))
            keys.fail(fmt::format("\"mlp_only_layers\" lists layer {} of {}", layer, config.layers));
        dense[static_cast<std::size_t>(layer)] = true;
    }
    if (std::ranges::find(dense, false) == dense.end()) keys.fail("no layer has experts");
    if (std::ranges::find(dense, true) != dense.end()) config.layer_dense = dense;
}

void read_qwen_moe(const JsonKeys& keys, ModelConfig& config) {
    read_experts(keys, "num_experts", "moe_intermediate_size", config);
    config.experts.normalized = keys.boolean("norm_topk_prob").value_or(false);
    read_dense_layers(keys, config);
    if (keys.boolean("use_sliding_window").value_or(false))
        keys.fail("\"use_sliding_window\": true is not supported with experts");
}

void read_qwen2_moe(const JsonKeys& keys, ModelConfig& config) {
    read_qwen_moe(keys, config);
    config.experts.shared_ffn = keys.required_integer("shared_expert_intermediate_size");
    config.experts.shared_gate = true;
    if (!keys.boolean("qkv_bias").value_or(true)) keys.fail("\"qkv_bias\": false is not supported");
}

void read_qwen2_moe_gguf(const GgufKeys& keys, ModelConfig& config) {
    config.experts.shared_ffn = keys.find_integer("expert_shared_feed_forward_length").value_or(config.ffn);
    config.experts.shared_gate = true;
}

void read_olmoe(const JsonKeys& keys, ModelConfig& config) {
    read_experts(keys, "num_experts", "intermediate_size", config);
    config.experts.normalized = keys.boolean("norm_topk_prob").value_or(false);
    if (keys.real("clip_qkv")) keys.fail("\"clip_qkv\" is not supported");
}

}  // namespace

extern const ModelFamily kMixtral, kQwen2Moe, kQwen3Moe, kOlmoe;
const ModelFamily kOlmoe = {
    .name = "OLMoE",
    .supported = "OLMoE",
    .model_type = "olmoe",
    .architecture = "olmoe",
    .mixture = true,
    .blocks = {.qk_norm = QkNorm::Row},
    .names = kExpertNames,
    .read_folder = read_olmoe,
};
const ModelFamily kMixtral = {
    .name = "Mixtral",
    .supported = "Mixtral",
    .model_type = "mixtral",
    .architecture = "llama",
    .mixture = true,
    .normalized_experts = true,
    .rope_in_gguf = RopeStyle::Interleaved,
    .begins_with_bos = true,
    .names = kMixtralNames,
    .read_folder = read_mixtral,
};
const ModelFamily kQwen2Moe = {
    .name = "Qwen 2 MoE",
    .supported = "Qwen 2 MoE",
    .model_type = "qwen2_moe",
    .architecture = "qwen2moe",
    .mixture = true,
    .blocks = {.qkv_bias = true},
    .names = kExpertNames,
    .read_folder = read_qwen2_moe,
    .read_gguf = read_qwen2_moe_gguf,
};
const ModelFamily kQwen3Moe = {
    .name = "Qwen 3 MoE",
    .supported = "Qwen 3 MoE",
    .model_type = "qwen3_moe",
    .architecture = "qwen3moe",
    .mixture = true,
    .normalized_experts = true,
    .blocks = {.qk_norm = QkNorm::Heads},
    .names = kExpertNames,
    .read_folder = read_qwen_moe,
};

}  // namespace voltpile::llm
