#include "llm/model/quant_mixture.h"

#include <fmt/format.h>

#include "base/error.h"

namespace voltpile::llm {
namespace {

bool gets_more_bits(std::int64_t layer, std::int64_t layers) {
    return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

WeightFormat wanted_format(QuantMixture mixture, const ModelTensor& tensor, const ModelConfig& config) {
    const WeightFormat base = info(mixture).base;
    if (tensor.rows == 1 || tensor.router) return WeightFormat::F32;
    const bool is_head = tensor.name == (config.tied_embeddings ? "token_embd.weight" : "output.weight");
    if (is_head && base != WeightFormat::F16 && base != WeightFormat::Q8_0) return WeightFormat::Q6_K;
    if (mixture != QuantMixture::Q4_K_M && mixture != QuantMixture::Q5_K_M) return base;
    const bool value = tensor.name.ends_with(".attn_v.weight");
    if (config.experts.count == 8) {  // attention is a small part of these models
        if (value || tensor.name.ends_with(".attn_k.weight")) return WeightFormat::Q8_0;
        if (tensor.name.ends_with(".attn_output.weight")) return WeightFormat::Q5_K;
    }
    if (!value && tensor.name.find(".ffn_down") == std::string::npos) return base;
    if (gets_more_bits(tensor.layer, config.layers)) return WeightFormat::Q6_K;
    const bool is_70b = config.layers == 80 && config.heads != config.kv_heads;
    return value && is_70b ? WeightFormat::Q5_K : base;
}

}  // namespace

WeightFormat mixture_format(QuantMixture mixture, const ModelTensor& tensor, const ModelConfig& config) {
    const WeightFormat format = wanted_format(mixture, tensor, config);
    if (tensor.columns % block_size(format) != 0)
        throw JobError(fmt::format("{} has rows of {} weights, which are not whole blocks of {} ({})",
                                   tensor.name, tensor.columns, name(format), block_size(format)));
    return format;
}

}  // namespace voltpile::llm
