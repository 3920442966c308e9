// GLM 4.5 (glm4_moe).
#include <array>

#include "llm/model/families/grouped_experts.h"
#include "llm/model/model_family.h"

namespace voltpile::llm {
namespace {

constexpr std::array<std::string_view, 2> kGlm4MoeEnds = {"<|user|>", "<|observation|>"};
// llama.cpp calls the norm before the feed-forward part so, although nothing precedes it but the residual
// sum.
constexpr std::array kGlm4MoeGgufNames = {TensorName{"post_attention_norm.weight", "ffn_norm.weight"}};

void read_glm4_moe(const JsonKeys& keys, ModelConfig& config) {
    read_grouped_experts(keys, config);
    config.blocks.qkv_bias = keys.boolean("attention_bias").value_or(false);
    if (keys.boolean("use_qk_norm").value_or(false)) config.blocks.qk_norm = QkNorm::Heads;
}

}  // namespace

extern const ModelFamily kGlm4Moe;
const ModelFamily kGlm4Moe = {
    .name = "GLM 4.5",
    .supported = "GLM 4.5 (also Air)",
    .model_type = "glm4_moe",
    .architecture = "glm4moe",
    .mixture = true,
    .normalized_experts = true,
    .sigmoid_router = true,
    .predicts = true,
    .folder_defaults = R"({"partial_rotary_factor": 0.5, "n_routed_experts": 128, "num_experts_per_tok": 8,
        "moe_intermediate_size": 1408, "n_shared_experts": 1, "first_k_dense_replace": 1})",
    .optional_qk_norm = true,
    .partial_rotary = true,
    .names = kGroupedExpertNames,
    .gguf_names = kGlm4MoeGgufNames,
    .end_texts = kGlm4MoeEnds,
    .read_folder = read_glm4_moe,
};

}  // namespace voltpile::llm
