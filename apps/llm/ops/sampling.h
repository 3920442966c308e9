// Defines how the next token of a sequence is drawn.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "llm/ops/sampling_view.h"

namespace voltpile::llm {

// The settings of one sequence. They apply in this order: repetition, presence and frequency penalties for
// the tokens of the sequence so far (logit -= presence + frequency * count), logit bias, mask, temperature,
// top-k, top-p, min-p; then one draw. Tokens rank by logit; among equal logits the lower token ranks first.
// Top-p counts probabilities that are normalized over the tokens that top-k leaves.
struct SamplingSettings {
    float temperature = 0;  // 0: greedy; among equal logits the lowest token
    int top_k = 0;          // 0: no limit
    float top_p = 1;        // keeps the smallest set of top tokens with at least this total probability
    float min_p = 0;        // keeps tokens with at least this fraction of the highest probability
    float repetition_penalty = 1;  // divides positive logits and multiplies negative ones
    float presence_penalty = 0;
    float frequency_penalty = 0;
    std::uint64_t seed = 0;  // token n of a sequence depends only on (seed, n) and the logits
    std::map<std::int32_t, float> logit_bias;
};

// Returns whether a draw depends on the tokens of the sequence so far.
inline bool has_penalty(const SamplingSettings& s) {
    return s.repetition_penalty != 1 || s.presence_penalty != 0 || s.frequency_penalty != 0;
}

}  // namespace voltpile::llm
