// Sampling on the GPU as llm/ops/sampling.h defines it, without sorting the vocabulary.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/stream.h"
#include "llm/ops/sampling_view.h"

namespace voltpile::llm {

// Parts of a row of logits that are reduced in parallel: before a draw, and in the search for the most
// probable tokens.
constexpr int sampling_parts = 128, top_parts = 32;

// The reduction of one part of a row.
struct LogitsPart {
    float largest;
    std::int32_t token;  // the first token with the largest logit
    float sum;           // of exp(logit - largest)
    std::int32_t bad;    // nonzero: there is a NaN or +infinity
    // The same of the tokens that the row's mask allows, without penalties and bias; set by scan_logits only.
    float largest_allowed;
    std::int32_t allowed_token;
};

constexpr std::size_t sampling_scratch_bytes_per_row(std::int64_t vocabulary) {
    return static_cast<std::size_t>((vocabulary + 3) / 4 * 16) + sampling_parts * sizeof(LogitsPart);
}

// Draws for `rows` rows from first_row on, see Ops::sample. scratch: rows * sampling_scratch_bytes_per_row().
void launch_sample(const float* logits, int first_row, int rows, int vocabulary, const SamplingView& sampling,
                   std::int32_t* tokens, float* log_probability, std::uint8_t* scratch, const Stream& stream);

constexpr std::size_t top_scratch_bytes_per_row(int n) {
    return top_parts * (sizeof(LogitsPart) + static_cast<std::size_t>(n) * 2 * sizeof(float));
}
// Ops::top_log_probabilities. scratch: rows * top_scratch_bytes_per_row(n).
void launch_top(const float* logits, int rows, int vocabulary, int n, std::int32_t* tokens,
                float* log_probabilities, std::uint8_t* scratch, const Stream& stream);

}  // namespace voltpile::llm
