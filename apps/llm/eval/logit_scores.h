// What a row of logits says of the token that came, and how it differs from another's row. Sums in fp64; in
// nats.
#pragma once

#include <cstdint>
#include <span>

namespace voltpile::llm {

// -log softmax(logits)[token]. Not finite if a logit is not.
double token_loss(std::span<const float> logits, std::int32_t token);

struct LogitDifference {
    double divergence = 0;  // sum p log(p / q), p = softmax(reference), q = softmax(logits)
    bool same_top = false;  // the most probable token, the lowest of equal ones
};
// Of rows of the same length.
LogitDifference compare_logits(std::span<const float> logits, std::span<const float> reference);

}  // namespace voltpile::llm
