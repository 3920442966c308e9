// Sampling on the GPU (see sampling.h), without sorting the vocabulary.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/stream.h"
#include "llm/ops/sampling.h"

namespace voltpile::llm {

constexpr int sampling_parts = 32;  // of a row, looked through at once

// What one part of a row has.
struct LogitsPart {
    float largest;
    std::int32_t token;  // the first that is the largest
    float sum;           // of exp(logit - largest)
    std::int32_t bad;    // a NaN or +infinity
};

constexpr std::size_t sampling_scratch_bytes_per_row(std::int64_t vocabulary) {
    return static_cast<std::size_t>((vocabulary + 3) / 4 * 16) + sampling_parts * sizeof(LogitsPart);
}

// Rows first_row .. + rows. scratch: rows * sampling_scratch_bytes_per_row.
void launch_sample(const float* logits, int first_row, int rows, int vocabulary, const SamplingView& sampling,
                   std::int32_t* tokens, float* log_probability, std::uint8_t* scratch, const Stream& stream);

// See Ops::top_log_probabilities. scratch: rows * top_scratch_bytes_per_row(n).
constexpr std::size_t top_scratch_bytes_per_row(int n) {
    return sampling_parts * (sizeof(LogitsPart) + static_cast<std::size_t>(n) * 2 * sizeof(float));
}
void launch_top(const float* logits, int rows, int vocabulary, int n, std::int32_t* tokens,
                float* log_probabilities, std::uint8_t* scratch, const Stream& stream);

}  // namespace voltpile::llm
