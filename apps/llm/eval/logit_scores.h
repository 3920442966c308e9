// Scores a row of logits against the token that follows, or against another model's row. Sums in fp64;
// results in nats.
#pragma once

#include <cstdint>
#include <span>

namespace voltpile::llm {

// Returns -log softmax(logits)[token]; not finite if a logit is not.
double token_loss(std::span<const float> logits, std::int32_t token);

struct LogitDifference {
    double divergence = 0;  // sum p log(p / q), p = softmax(reference), q = softmax(logits)
    bool same_top = false;  // both have the same most probable token (of equal ones, the lowest)
};
// Compares two rows of the same length.
LogitDifference compare_logits(std::span<const float> logits, std::span<const float> reference);

}  // namespace voltpile::llm
