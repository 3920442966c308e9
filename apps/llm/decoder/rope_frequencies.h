// The frequencies of rotary position embedding (RoPE), with the scaling that a model's description defines.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "llm/model/model_config.h"

namespace voltpile::llm {

struct RopeFrequencies {
    std::vector<float> frequencies;  // (rope_dims / 2): radians a position
    float magnitude = 1;             // of cos and sin
};

// Returns f_i = theta^(-2i / rope_dims), scaled as transformers' modeling_rope_utils defines linear, llama3,
// yarn and longrope. factors: rope_dims / 2 divisors of f_i (the tensor rope_freqs.weight), or empty.
// context: the most tokens of a sequence; longrope has other frequencies above its original context. The
// magnitude is the config's attention_factor or, if that is 0, 0.1 ln(factor) + 1 for yarn, sqrt(1 +
// ln(factor) / ln(original context)) for longrope, and 1 for the others.
RopeFrequencies rope_frequencies(const ModelConfig& config, std::span<const float> factors,
                                 std::int64_t context);

// Returns the frequencies of layers that slide, if config.window_rope_theta is set.
RopeFrequencies window_rope_frequencies(const ModelConfig& config);

}  // namespace voltpile::llm
