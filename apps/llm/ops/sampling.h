// How the next token is drawn, for each sequence.
#pragma once

#include <cstdint>
#include <map>
#include <span>

namespace voltpile::llm {

// Applied in this order: repetition, presence and frequency penalties over the tokens so far, logit bias,
// temperature, top-k, top-p, min-p; then one draw by seed.
struct SamplingSettings {
    float temperature = 0;         // 0: greedy, the lowest token of equal ones
    int top_k = 0;                 // 0: all
    float top_p = 1;               // smallest set of the most probable whose sum is at least this
    float min_p = 0;               // of the most probable's probability
    float repetition_penalty = 1;  // positive logits are divided by it, negative ones multiplied
    float presence_penalty = 0;
    float frequency_penalty = 0;
    std::uint64_t seed = 0;  // the n-th token of a sequence depends on (seed, n) and the logits alone
    std::map<std::int32_t, float> logit_bias;
};

// Of a pass, in the memory of the processor; (rows) each, one row for one sequence. Draws are by
// Philox4x32-10 with key = seed and counter = step, so that every implementation and every rank draws the
// same.
struct SamplingView {
    const float* temperature = nullptr;
    const std::int32_t* top_k = nullptr;
    const float* top_p = nullptr;
    const float* min_p = nullptr;
    const float* repetition_penalty = nullptr;
    const float* presence_penalty = nullptr;
    const float* frequency_penalty = nullptr;
    const std::uint64_t* seed = nullptr;
    const std::int32_t* step = nullptr;  // n: how many tokens this sequence has drawn
    // Tokens so far with their counts, for penalties: row r has history_begin[r] .. history_begin[r + 1].
    const std::int32_t* history_begin = nullptr;
    const std::int32_t* history_token = nullptr;  // each token once
    const std::int32_t* history_count = nullptr;
    const std::int32_t* bias_begin = nullptr;  // logit bias, in the same way
    const std::int32_t* bias_token = nullptr;
    const float* bias = nullptr;
};

}  // namespace voltpile::llm
