#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "llm/model/tensor_files.h"

namespace voltpile::llm {
namespace {

using Names = std::pair<std::string_view, std::string_view>;

constexpr std::array<Names, 3> kGlobal = {{{"model.embed_tokens.weight", "token_embd.weight"},
                                           {"model.norm.weight", "output_norm.weight"},
                                           {"lm_head.weight", "output.weight"}}};
constexpr std::array<Names, 14> kOfLayer = {{{"input_layernorm.weight", "attn_norm.weight"},
                                             {"self_attn.q_proj.weight", "attn_q.weight"},
                                             {"self_attn.k_proj.weight", "attn_k.weight"},
                                             {"self_attn.v_proj.weight", "attn_v.weight"},
                                             {"self_attn.q_proj.bias", "attn_q.bias"},
                                             {"self_attn.k_proj.bias", "attn_k.bias"},
                                             {"self_attn.v_proj.bias", "attn_v.bias"},
                                             {"self_attn.q_norm.weight", "attn_q_norm.weight"},
                                             {"self_attn.k_norm.weight", "attn_k_norm.weight"},
                                             {"self_attn.o_proj.weight", "attn_output.weight"},
                                             {"post_attention_layernorm.weight", "ffn_norm.weight"},
                                             {"mlp.gate_proj.weight", "ffn_gate.weight"},
                                             {"mlp.up_proj.weight", "ffn_up.weight"},
                                             {"mlp.down_proj.weight", "ffn_down.weight"}}};
constexpr std::string_view kLayers = "model.layers.";

}  // namespace

std::string canonical_name(std::string_view hugging_face_name) {
    if (const auto found = std::ranges::find(kGlobal, hugging_face_name, &Names::first);
        found != kGlobal.end())
        return std::string(found->second);
    if (hugging_face_name.starts_with(kLayers)) {
        const std::string_view rest = hugging_face_name.substr(kLayers.size());
        const std::string_view layer = rest.substr(0, rest.find('.'));
        if (layer.size() < rest.size())
            if (const auto found = std::ranges::find(kOfLayer, rest.substr(layer.size() + 1), &Names::first);
                found != kOfLayer.end())
                return fmt::format("blk.{}.{}", layer, found->second);
    }
    return std::string(hugging_face_name);
}

}  // namespace voltpile::llm
