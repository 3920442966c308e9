#include "llm/model/tensor_names.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>

namespace voltpile::llm {
namespace {

constexpr std::array<TensorName, 3> kGlobal = {{{"model.embed_tokens.weight", "token_embd.weight"},
                                                {"model.norm.weight", "output_norm.weight"},
                                                {"lm_head.weight", "output.weight"}}};
constexpr std::array<TensorName, 16> kOfLayer = {{{"input_layernorm.weight", "attn_norm.weight"},
                                                  {"self_attn.q_proj.weight", "attn_q.weight"},
                                                  {"self_attn.k_proj.weight", "attn_k.weight"},
                                                  {"self_attn.v_proj.weight", "attn_v.weight"},
                                                  {"self_attn.qkv_proj.weight", "attn_qkv.weight"},
                                                  {"mlp.gate_up_proj.weight", "ffn_up.weight"},
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

// Returns the digits in `name` at the place of the star in `pattern`; empty if they differ otherwise.
std::string_view number_at_star(std::string_view pattern, std::string_view name) {
    const std::size_t star = pattern.find('*');
    if (star == std::string_view::npos || !name.starts_with(pattern.substr(0, star)) ||
        !name.ends_with(pattern.substr(star + 1)) || name.size() < pattern.size())
        return {};
    const std::string_view number = name.substr(star, name.size() - pattern.size() + 1);
    return number.find_first_not_of("0123456789") == std::string_view::npos ? number : std::string_view();
}

// Returns the canonical name; empty if `names` lacks it.
std::string find_name(std::span<const TensorName> names, std::string_view in_folder) {
    for (const TensorName& name : names) {
        if (name.folder == in_folder) return std::string(name.canonical);
        const std::string_view number = number_at_star(name.folder, in_folder);
        if (number.empty()) continue;
        const std::size_t star = name.canonical.find('*');
        return fmt::format("{}{}{}", name.canonical.substr(0, star), number, name.canonical.substr(star + 1));
    }
    return {};
}

// In models with images, the text model's tensors have one of these prefixes.
std::string without_prefix(std::string_view name) {
    for (const auto& [prefix, instead] :
         {TensorName{"model.language_model.", "model."}, {"language_model.", ""}})
        if (name.starts_with(prefix)) return fmt::format("{}{}", instead, name.substr(prefix.size()));
    return std::string(name);
}

std::string text_model_name(std::string_view in_folder, const ModelFamily& family) {
    if (std::string global = find_name(kGlobal, in_folder); !global.empty()) return global;
    if (!in_folder.starts_with(kLayers)) return std::string(in_folder);
    const std::string_view rest = in_folder.substr(kLayers.size());
    const std::string_view layer = rest.substr(0, rest.find('.'));
    if (layer.size() == rest.size()) return std::string(in_folder);
    const std::string_view name = rest.substr(layer.size() + 1);
    std::string canonical = find_name(family.names, name);
    if (canonical.empty()) canonical = find_name(kOfLayer, name);
    return canonical.empty() ? std::string(in_folder) : fmt::format("blk.{}.{}", layer, canonical);
}

}  // namespace

std::string canonical_name(std::string_view in_folder, const ModelFamily& family) {
    if (family.model_type_with_images.empty()) return text_model_name(in_folder, family);
    return text_model_name(without_prefix(in_folder), family);
}

namespace {

// Returns `name` with its part behind the layer translated from `from` to `to`.
std::string translated(std::string_view name, std::span<const TensorName> names,
                       std::string_view TensorName::*from, std::string_view TensorName::*to) {
    if (name.starts_with("blk."))
        for (const TensorName& entry : names)
            if (const std::size_t dot = name.find('.', 4); name.substr(dot + 1) == entry.*from)
                return fmt::format("{}.{}", name.substr(0, dot), entry.*to);
    return std::string(name);
}

}  // namespace

std::string canonical_name_of_gguf(std::string_view in_file, const ModelFamily& family) {
    return translated(in_file, family.gguf_names, &TensorName::folder, &TensorName::canonical);
}

std::string gguf_name(std::string_view canonical, const ModelFamily& family) {
    return translated(canonical, family.gguf_names, &TensorName::canonical, &TensorName::folder);
}

bool is_for_prediction(std::string_view name, const ModelConfig& config) {
    for (const std::string_view prefix : {kLayers, std::string_view("blk.")}) {
        if (!name.starts_with(prefix)) continue;
        std::int64_t layer = -1;
        std::from_chars(name.data() + prefix.size(), name.data() + name.size(), layer);
        return layer >= config.layers && layer < config.layers + config.prediction_layers;
    }
    return false;
}

bool is_for_images(std::string_view in_folder, const ModelFamily& family) {
    if (family.model_type_with_images.empty()) return false;
    if (in_folder.starts_with("model.")) in_folder.remove_prefix(6);
    return in_folder.starts_with("vision_tower.") || in_folder.starts_with("multi_modal_projector.");
}

}  // namespace voltpile::llm
