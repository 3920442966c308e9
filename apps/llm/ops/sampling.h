// How the next token is drawn, for each sequence.
#pragma once

#include <cstdint>
#include <map>
#include <span>

namespace voltpile::llm {

// Applied in this order: repetition, presence and frequency penalties over the tokens so far (logit -=
// presence + frequency * count), logit bias, temperature, top-k, top-p, min-p; then one draw by seed.
// "Most probable" is by logit, of equal logits the lower token first. Top-p is of the probabilities that
// top-k leaves, normalized.
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

// Whether a draw depends on the tokens so far.
inline bool has_penalty(const SamplingSettings& s) {
    return s.repetition_penalty != 1 || s.presence_penalty != 0 || s.frequency_penalty != 0;
}

// Of a pass, in the memory of the processor; (rows) each, one row for one sequence.
//
// The draw. x = first word of Philox4x32-10 (J. K. Salmon et al., SC11) with key = (low, high word of seed)
// and counter = (step, 0, 0, 0); u = (x >> 8) * 2^-24. The token is the first, in the order of the tokens'
// numbers, at which the sum of the probabilities that are left exceeds u times their total (the last that is
// left, should rounding prevent that). So every rank draws the same token, and every implementation, except
// where u meets a boundary to within the rounding of its sums.
//
// The token is -1 where a row of logits has a NaN, a +infinity or nothing finite.
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

    bool operator==(const SamplingView&) const = default;
};

}  // namespace voltpile::llm
