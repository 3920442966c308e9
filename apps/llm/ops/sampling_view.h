// The sampling settings of a pass as the kernels read them. sampling.h explains the settings.
#pragma once

#include <cstdint>

namespace voltpile::llm {

// The settings of all draws in a pass. Arrays of (rows) in device memory, not owned; row r draws from row r
// of the logits.
//
// The draw. x is the first word of Philox4x32-10 (philox.h) with key = (low, high word of seed) and counter =
// (step, 0, 0, 0); u = (x >> 8) * 2^-24. In the order of token ids, the draw is the first token at which the
// running sum of the remaining probabilities exceeds u times their total, or the last remaining token if
// rounding prevents that. All ranks therefore draw the same token. All implementations do, too, unless u is
// within their rounding error of a boundary.
//
// The draw is -1 if the row of logits has a NaN, has +infinity, or has no finite value.
struct SamplingView {
    const float* temperature = nullptr;
    const std::int32_t* top_k = nullptr;
    const float* top_p = nullptr;
    const float* min_p = nullptr;
    const float* repetition_penalty = nullptr;
    const float* presence_penalty = nullptr;
    const float* frequency_penalty = nullptr;
    const std::uint64_t* seed = nullptr;
    const std::int32_t* step = nullptr;  // n: tokens that the sequence has drawn before
    // (rows + 1): the tokens so far of row r, for penalties, are history_begin[r] to history_begin[r + 1]
    // - 1.
    const std::int32_t* history_begin = nullptr;
    const std::int32_t* history_token = nullptr;  // each token once
    const std::int32_t* history_count = nullptr;
    const std::int32_t* bias_begin = nullptr;  // (rows + 1): the same for logit bias
    const std::int32_t* bias_token = nullptr;
    const float* bias = nullptr;
    // Tokens that may be drawn, where a row has a mask: the words mask_begin[r] to mask_end[r] - 1 of `mask`,
    // with bit t % 32 of word t / 32 for token t, and none of the tokens beyond. Rows may share words; a row
    // without words has no mask. Of allowed tokens that all have -infinity the lowest is drawn; -1 if none is
    // allowed.
    const std::int32_t* mask_begin = nullptr;  // (rows)
    const std::int32_t* mask_end = nullptr;    // (rows)
    const std::uint32_t* mask = nullptr;

    bool operator==(const SamplingView&) const = default;
};

}  // namespace voltpile::llm
