// What the config.json files and tensors of GLM 4.5 and DeepSeek have in common: layers without experts at
// the beginning, shared experts, a router that chooses groups of experts first, and prediction layers.
#pragma once

#include <array>

#include "llm/model/model_family.h"

namespace voltpile::llm {

inline constexpr std::array kGroupedExpertNames = {
    TensorName{"mlp.gate.weight", "ffn_gate_inp.weight"},
    TensorName{"mlp.gate.e_score_correction_bias", "exp_probs_b.bias"},
    TensorName{"mlp.experts.*.gate_proj.weight", "ffn_gate.*.weight"},
    TensorName{"mlp.experts.*.up_proj.weight", "ffn_up.*.weight"},
    TensorName{"mlp.experts.*.down_proj.weight", "ffn_down.*.weight"},
    TensorName{"mlp.shared_experts.gate_proj.weight", "ffn_gate_shexp.weight"},
    TensorName{"mlp.shared_experts.up_proj.weight", "ffn_up_shexp.weight"},
    TensorName{"mlp.shared_experts.down_proj.weight", "ffn_down_shexp.weight"},
    // Of prediction layers.
    TensorName{"eh_proj.weight", "nextn.eh_proj.weight"},
    TensorName{"enorm.weight", "nextn.enorm.weight"},
    TensorName{"hnorm.weight", "nextn.hnorm.weight"},
    TensorName{"embed_tokens.weight", "nextn.embed_tokens.weight"},
    TensorName{"shared_head.norm.weight", "nextn.shared_head_norm.weight"},
    TensorName{"shared_head.head.weight", "nextn.shared_head_head.weight"},
};

// Reads config.experts, config.layer_dense and config.prediction_layers. Sigmoid routers have a bias of the
// choice.
void read_grouped_experts(const JsonKeys& keys, ModelConfig& config);

}  // namespace voltpile::llm
