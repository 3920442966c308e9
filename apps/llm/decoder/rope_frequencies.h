// The frequencies of rotary position embedding (RoPE), with the scaling that a model's description defines.
#pragma once

#include <span>
#include <vector>

#include "llm/model/model_config.h"

namespace voltpile::llm {

struct RopeFrequencies {
    std::vector<float> frequencies;  // (rope_dims / 2): radians a position
    float magnitude = 1;             // of cos and sin
};

// Returns f_i = theta^(-2i / rope_dims), scaled as transformers' modeling_rope_utils defines linear, llama3
// and yarn. factors: rope_dims / 2 divisors of f_i (the tensor rope_freqs.weight), or empty.
RopeFrequencies rope_frequencies(const ModelConfig& config, std::span<const float> factors);

}  // namespace voltpile::llm
