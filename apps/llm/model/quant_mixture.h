// The format of each tensor in a quantized GGUF file, as llama.cpp's llama-quantize chooses it without an
// importance matrix.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "llm/model/model_config.h"
#include "llm/model/model_tensor.h"

namespace voltpile::llm {

enum class QuantMixture { F16, Q8_0, Q4_0, Q4_K_M, Q5_K_M };

struct QuantMixtureInfo {
    QuantMixture mixture;
    std::string_view name;    // as on the command line
    WeightFormat base;        // of most tensors
    std::uint32_t file_type;  // general.file_type in GGUF
};

inline constexpr std::array<QuantMixtureInfo, 5> kQuantMixtures = {{
    {QuantMixture::F16, "f16", WeightFormat::F16, 1},
    {QuantMixture::Q8_0, "q8_0", WeightFormat::Q8_0, 7},
    {QuantMixture::Q4_0, "q4_0", WeightFormat::Q4_0, 2},
    {QuantMixture::Q4_K_M, "q4_k_m", WeightFormat::Q4_K, 15},
    {QuantMixture::Q5_K_M, "q5_k_m", WeightFormat::Q5_K, 17},
}};

constexpr const QuantMixtureInfo& info(QuantMixture mixture) {
    return kQuantMixtures[static_cast<std::size_t>(mixture)];
}

// Returns the format of a tensor. Vectors stay in F32. The head is in Q6_K in all mixtures below 8 bits. In
// Q4_K_M and Q5_K_M, attn_v and ffn_down are in Q6_K in the first and last eighth of the layers and every
// third between; models of 80 layers with grouped heads have the other attn_v in Q5_K instead of Q4_K;
// models with 8 experts have attn_k and attn_v in Q8_0 and attn_output in Q5_K. Routers stay in F32. Throws
// JobError for rows that are not whole blocks.
WeightFormat mixture_format(QuantMixture mixture, const ModelTensor& tensor, const ModelConfig& config);

}  // namespace voltpile::llm
