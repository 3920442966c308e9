// The choice of a token on processors, as sampling.h defines it, with sums in fp64.
#pragma once

#include <cstdint>
#include <span>

#include "llm/ops/sampling.h"

namespace voltpile::llm {

struct SampledToken {
    std::int32_t token;  // -1: the logits were not usable
    float log_probability;
};

// Reads sampling's entries of `row` alone.
SampledToken sample_row(std::span<const float> logits, const SamplingView& sampling, std::int64_t row);

// See Ops::top_log_probabilities: of one row, n of each.
void top_row(std::span<const float> logits, int n, std::int32_t* tokens, float* log_probabilities);

}  // namespace voltpile::llm
