// GLM 4 (GLM-4-0414).
#include <array>

#include "llm/model/model_family.h"

namespace voltpile::llm {
namespace {

constexpr std::array kGlm4Names = {
    TensorName{"post_self_attn_layernorm.weight", "post_attention_norm.weight"},
    TensorName{"post_attention_layernorm.weight", "ffn_norm.weight"},
    TensorName{"post_mlp_layernorm.weight", "post_ffw_norm.weight"}};
constexpr std::array<std::string_view, 1> kGlm4Fused = {"ffn_up.weight"};
constexpr std::array<std::string_view, 2> kGlm4Ends = {"<|user|>", "<|observation|>"};

void read_glm4(const JsonKeys& keys, ModelConfig& config) {
    config.blocks.qkv_bias = keys.boolean("attention_bias").value_or(true);
}

}  // namespace

extern const ModelFamily kGlm4;
const ModelFamily kGlm4 = {
    .name = "GLM 4",
    .supported = "GLM 4",
    .model_type = "glm4",
    .architecture = "glm4",
    .predicts = true,
    .blocks = {.output_norms = true},
    .rope_in_folder = RopeStyle::Interleaved,
    .rope_in_gguf = RopeStyle::Interleaved,
    .folder_defaults = R"({"head_dim": 128, "partial_rotary_factor": 0.5, "rms_norm_eps": 1.5625e-07})",
    .partial_rotary = true,
    .names = kGlm4Names,
    .fused_in_gguf = kGlm4Fused,
    .end_texts = kGlm4Ends,
    .read_folder = read_glm4,
};

}  // namespace voltpile::llm
