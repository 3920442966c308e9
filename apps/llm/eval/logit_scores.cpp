#include "llm/eval/logit_scores.h"

#include <algorithm>
#include <cmath>

namespace voltpile::llm {
namespace {

std::size_t top_of(std::span<const float> logits) {
    return static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin());
}

// sum_i exp(logits[i] - top)
double sum_of_exponentials(std::span<const float> logits, double top) {
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - top);
    return sum;
}

}  // namespace

double token_loss(std::span<const float> logits, std::int32_t token) {
    const auto top = static_cast<double>(logits[top_of(logits)]);
    const auto logit = static_cast<double>(logits[static_cast<std::size_t>(token)]);
    return std::log(sum_of_exponentials(logits, top)) - (logit - top);
}

LogitDifference compare_logits(std::span<const float> logits, std::span<const float> reference) {
    const std::size_t top_index = top_of(logits);
    const std::size_t reference_index = top_of(reference);
    const auto top = static_cast<double>(logits[top_index]);
    const auto reference_top = static_cast<double>(reference[reference_index]);
    double reference_sum = 0;
    double weighted =
        0;  // sum of exp(reference - top) * (log p - log q), without the logarithms of both sums
    for (std::size_t i = 0; i < logits.size(); ++i) {
        const double log_p = static_cast<double>(reference[i]) - reference_top;
        const double log_q = static_cast<double>(logits[i]) - top;
        const double p = std::exp(log_p);
        reference_sum += p;
        weighted += p * (log_p - log_q);
    }
    const double sum = sum_of_exponentials(logits, top);
    return {weighted / reference_sum + std::log(sum) - std::log(reference_sum), top_index == reference_index};
}

}  // namespace voltpile::llm
