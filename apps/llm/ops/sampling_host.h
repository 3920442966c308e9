// Draws tokens on the CPU as sampling.h defines it, with sums in fp64.
#pragma once

#include <cstdint>
#include <span>

#include "llm/ops/sampling.h"

namespace voltpile::llm {

struct SampledToken {
    std::int32_t token;  // -1: the logits are unusable, see SamplingView
    float log_probability;
};

// Draws from `logits` with the settings of row `row`.
SampledToken sample_row(std::span<const float> logits, const SamplingView& sampling, std::int64_t row);

// Ops::top_log_probabilities for one row. tokens, log_probabilities: (n).
void top_row(std::span<const float> logits, int n, std::int32_t* tokens, float* log_probabilities);

}  // namespace voltpile::llm
