#include "llm/model/quant_mixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace voltpile::llm {
namespace {

bool gets_more_bits(std::int64_t layer, std::int64_t layers) {
    return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

// Below 3 bits.
bool is_tiny(QuantMixture mixture) {
    using enum QuantMixture;
    return mixture == IQ1_S || mixture == IQ2_XS || mixture == IQ2_M;
}

// What mixtures below 3 bits have where they need more.
WeightFormat wider_format(QuantMixture mixture) {
    return mixture == QuantMixture::IQ2_M ? WeightFormat::IQ3_S : WeightFormat::Q2_K;
}

WeightFormat value_format(QuantMixture mixture, const ModelTensor& tensor, const ModelConfig& config) {
    using enum QuantMixture;
    const bool grouped = config.kv_heads > 0 && config.heads / config.kv_heads >= 4;
    WeightFormat format = info(mixture).base;
    if (mixture == Q2_K) format = grouped ? WeightFormat::Q4_K : WeightFormat::Q3_K;
    if ((mixture == IQ4_NL || mixture == IQ4_XS) && grouped) format = WeightFormat::Q5_K;
    if ((mixture == Q2_K_S || mixture == IQ3_S) && grouped) format = WeightFormat::Q4_K;
    if (is_tiny(mixture))
        return grouped || config.experts.count >= 4 ? WeightFormat::Q4_K : wider_format(mixture);
    if (mixture == Q3_K_M) format = tensor.layer < 2 ? WeightFormat::Q5_K : WeightFormat::Q4_K;
    if (mixture == Q3_K_L || (mixture == Q4_K_S && tensor.layer < 4)) format = WeightFormat::Q5_K;
    if ((mixture == Q4_K_M || mixture == Q5_K_M) && gets_more_bits(tensor.layer, config.layers))
        format = WeightFormat::Q6_K;
    const bool is_70b = config.layers == 80 && config.heads != config.kv_heads;
    if (is_70b && (format == WeightFormat::Q3_K || format == WeightFormat::Q4_K)) format = WeightFormat::Q5_K;
    return format;
}

WeightFormat down_format(QuantMixture mixture, const ModelTensor& tensor, const ModelConfig& config,
                         bool importance) {
    using enum QuantMixture;
    const bool first_eighth = tensor.layer < config.layers / 8;
    const WeightFormat base = info(mixture).base;
    switch (mixture) {
        case Q2_K:
            return WeightFormat::Q3_K;
        case Q2_K_S:
            return first_eighth ? WeightFormat::Q4_K : base;
        case IQ1_S:
        case IQ2_XS:
        case IQ2_M:
            return first_eighth ? wider_format(mixture) : base;
        case Q3_K_M:
            return tensor.layer < config.layers / 16 ? WeightFormat::Q5_K : WeightFormat::Q4_K;
        case Q3_K_L:
            return WeightFormat::Q5_K;
        case Q4_K_M:
        case Q5_K_M:
            return gets_more_bits(tensor.layer, config.layers) ? WeightFormat::Q6_K : base;
        case Q4_K_S:
            return first_eighth ? WeightFormat::Q5_K : base;
        case IQ4_NL:
        case IQ4_XS:
            return !importance && first_eighth ? WeightFormat::Q5_K : base;
        case Q4_0:
            return importance && first_eighth ? WeightFormat::Q4_1 : base;
        case Q5_0:
            return importance && first_eighth ? WeightFormat::Q5_1 : base;
        default:
            return base;
    }
}

WeightFormat output_format(QuantMixture mixture, const ModelConfig& config) {
    using enum QuantMixture;
    const bool below_five = mixture == Q2_K || mixture == Q3_K_S || mixture == Q3_K_M || mixture == Q4_K_S ||
                            mixture == Q4_K_M || mixture == IQ4_NL || mixture == IQ4_XS || mixture == IQ3_S ||
                            is_tiny(mixture);
    if (config.experts.count == 8 && below_five) return WeightFormat::Q5_K;
    if (config.experts.count == 8) return info(mixture).base;
    if (mixture == Q2_K) return WeightFormat::Q3_K;
    if (mixture == IQ1_S) return WeightFormat::IQ2_XXS;
    if (mixture == IQ2_M) return WeightFormat::IQ3_S;
    if (mixture == Q3_K_M) return WeightFormat::Q4_K;
    if (mixture == Q3_K_L) return WeightFormat::Q5_K;
    return info(mixture).base;
}

// Q, K and V in one tensor.
WeightFormat joined_format(QuantMixture mixture) {
    using enum QuantMixture;
    if (mixture == Q3_K_M || mixture == Q3_K_L) return WeightFormat::Q4_K;
    if (mixture == Q4_K_M) return WeightFormat::Q5_K;
    if (mixture == Q5_K_M) return WeightFormat::Q6_K;
    return info(mixture).base;
}

WeightFormat wanted_format(QuantMixture mixture, const ModelTensor& tensor, const ModelConfig& config,
                           bool importance) {
    using enum QuantMixture;
    const WeightFormat base = info(mixture).base;
    if (tensor.rows == 1 || tensor.router) return WeightFormat::F32;
    if (mixture == MXFP4_MOE) return tensor.expert >= 0 ? WeightFormat::MXFP4 : base;
    if (mixture == F16 || mixture == BF16 || mixture == Q8_0) return base;
    const std::string_view tensor_name = tensor.name;
    if (info(mixture).file_type == kNoFileType) return tensor.layer < 0 ? WeightFormat::F16 : base;
    if (tensor_name == (config.tied_embeddings ? "token_embd.weight" : "output.weight")) {
        if (tensor.columns % block_size(base) != 0) return WeightFormat::Q8_0;
        return is_tiny(mixture) ? WeightFormat::Q5_K : WeightFormat::Q6_K;
    }
    if (is_tiny(mixture) && tensor_name == "token_embd.weight") return wider_format(mixture);
    const bool value = tensor_name.ends_with(".attn_v.weight");
    // Attention is a small part of models with 8 experts.
    if (config.experts.count == 8 && (value || tensor_name.ends_with(".attn_k.weight")))
        return is_tiny(mixture) ? WeightFormat::Q4_K : WeightFormat::Q8_0;
    if (value) return value_format(mixture, tensor, config);
    if (tensor_name.find(".ffn_down") != std::string_view::npos)
        return down_format(mixture, tensor, config, importance);
    if (tensor_name.ends_with(".attn_output.weight")) return output_format(mixture, config);
    if (tensor_name.ends_with(".attn_qkv.weight")) return joined_format(mixture);
    return base;
}

WeightFormat with_smaller_blocks(WeightFormat format) {
    switch (format) {
        case WeightFormat::Q2_K:
        case WeightFormat::Q3_K:
            return WeightFormat::Q4_0;
        case WeightFormat::IQ1_S:
        case WeightFormat::IQ2_XXS:
        case WeightFormat::IQ2_XS:
        case WeightFormat::IQ2_S:
        case WeightFormat::IQ3_S:
        case WeightFormat::IQ4_XS:
            return WeightFormat::IQ4_NL;
        case WeightFormat::Q4_K:
            return WeightFormat::Q5_0;
        case WeightFormat::Q5_K:
            return WeightFormat::Q5_1;
        case WeightFormat::Q6_K:
            return WeightFormat::Q8_0;
        default:
            return WeightFormat::F16;
    }
}

}  // namespace

WeightFormat mixture_format_or_fallback(QuantMixture mixture, const ModelTensor& tensor,
                                        const ModelConfig& config, bool importance) {
    WeightFormat format = wanted_format(mixture, tensor, config, importance);
    while (tensor.columns % block_size(format) != 0) format = with_smaller_blocks(format);
    return format;
}

std::optional<QuantMixture> find_mixture(std::string_view name) {
    const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
    for (const QuantMixtureInfo& entry : kWrittenMixtures)
        if (std::ranges::equal(name, entry.name, same)) return entry.mixture;
    return std::nullopt;
}

std::string mixture_names(std::span<const QuantMixtureInfo> mixtures) {
    std::string names;
    for (const QuantMixtureInfo& entry : mixtures)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
    return names;
}

}  // namespace voltpile::llm
