// One text continued: prompt in pieces, then token by token. For the command line; many at once are the
// engine's.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "llm/decoder/decoder.h"
#include "llm/decoder/kv_pages.h"
#include "llm/ops/sampling.h"

namespace voltpile::llm {

struct GenerateSettings {
    int max_tokens = 128;
    bool ignore_end = false;  // goes on after a token that ends a text
    SamplingSettings sampling;
};

struct Generated {
    std::vector<std::int32_t> tokens;
    std::vector<float> log_probability;
    bool ended = false;  // by a token that ends a text, which is not among `tokens`
    double prompt_seconds = 0;
    double generation_seconds = 0;  // from the first token on
};

// The settings of a decoder that generate() can use: pages and limits for texts of up to `tokens`.
DecoderSettings single_text_settings(const ModelConfig& config, int tokens);

// prompt: not empty. told: each token as it comes; false ends the text. Throws JobError for a prompt that
// leaves no room in `room` tokens, Error for logits that are no numbers.
Generated generate(Decoder& decoder, Ops& ops, const ModelConfig& config, int room,
                   std::span<const std::int32_t> prompt, const GenerateSettings& settings,
                   const std::function<bool(std::int32_t)>& told);

}  // namespace voltpile::llm
