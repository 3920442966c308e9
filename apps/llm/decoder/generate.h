// One text continued: prompt in pieces, then token by token. For the command line; many at once are the
// engine's.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "llm/decoder/kv_pages.h"
#include "llm/decoder/pass_runner.h"

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

// One pass, and a token for each row of logits: a replica's step, or a single rank's.
using Step = std::function<std::vector<DrawnToken>(const Batch&, std::span<const SamplingRow>)>;
Step single_rank_step(Decoder& decoder, PassRunner& runner);  // both outlive it

// The limits of a decoder that generate() can use, with pages for one text of up to `tokens`.
BatchLimits single_text_limits(int tokens);
// The settings of one that has the whole model.
DecoderSettings single_text_settings(const ModelConfig& config, int tokens);

// Throws JobError for a prompt that is empty or leaves no room in `room` tokens.
void check_prompt(std::span<const std::int32_t> prompt, int room);

// told: each token as it comes; false ends the text. The same on every rank of a replica, if `told` answers
// the same. Throws as check_prompt(), and as `step`.
Generated generate(const Step& step, const ModelConfig& config, int room,
                   std::span<const std::int32_t> prompt, const GenerateSettings& settings,
                   const std::function<bool(std::int32_t)>& told);

}  // namespace voltpile::llm
