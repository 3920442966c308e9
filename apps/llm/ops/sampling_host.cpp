#include "llm/ops/sampling_host.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "llm/ops/philox.h"

namespace voltpile::llm {
namespace {

struct Candidate {
    float logit;
    std::int32_t token;
};

bool more_probable(const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

// Returns false if there is a NaN or +infinity, or no finite number.
bool usable(std::span<const float> logits) {
    bool finite = false;
    for (const float logit : logits) {
        if (std::isnan(logit) || logit == std::numeric_limits<float>::infinity()) return false;
        finite = finite || std::isfinite(logit);
    }
    return finite;
}

// Returns log(sum exp(logit - largest)).
double log_sum(std::span<const float> logits, float largest) {
    double total = 0;
    for (const float logit : logits) total += std::exp(static_cast<double>(logit - largest));
    return std::log(total);
}

float log_probability_of(std::span<const float> logits, std::int32_t token) {
    const float largest = *std::max_element(logits.begin(), logits.end());
    return static_cast<float>(static_cast<double>(logits[static_cast<std::size_t>(token)] - largest) -
                              log_sum(logits, largest));
}

void penalize_and_bias(std::vector<Candidate>& candidates, const SamplingView& sampling, std::int64_t row) {
    for (std::int32_t i = sampling.history_begin[row]; i < sampling.history_begin[row + 1]; ++i) {
        float& logit = candidates[static_cast<std::size_t>(sampling.history_token[i])].logit;
        const float repetition = sampling.repetition_penalty[row];
        logit = logit > 0 ? logit / repetition : logit * repetition;
        logit -= sampling.presence_penalty[row] +
                 sampling.frequency_penalty[row] * static_cast<float>(sampling.history_count[i]);
    }
    for (std::int32_t i = sampling.bias_begin[row]; i < sampling.bias_begin[row + 1]; ++i)
        candidates[static_cast<std::size_t>(sampling.bias_token[i])].logit += sampling.bias[i];
}

// Leaves those that the row's mask allows.
void keep_allowed(std::vector<Candidate>& candidates, const SamplingView& sampling, std::int64_t row) {
    const std::int32_t begin = sampling.mask_begin[row], words = sampling.mask_end[row] - begin;
    if (words == 0) return;
    const std::uint32_t* const mask = sampling.mask + begin;
    std::erase_if(candidates, [&](const Candidate& c) {
        return c.token / 32 >= words || (mask[c.token / 32] >> (c.token % 32) & 1) == 0;
    });
}

// Returns the probability relative to that of the largest logit.
double weight_of(const Candidate& candidate, float largest, float temperature) {
    return std::exp(static_cast<double>(candidate.logit - largest) / static_cast<double>(temperature));
}

// Keeps the smallest set of the most probable candidates with at least top_p of the total probability.
void keep_top_p(std::vector<Candidate>& candidates, float largest, float temperature, float top_p) {
    double total = 0;
    for (const Candidate& c : candidates) total += weight_of(c, largest, temperature);
    const double wanted = total * static_cast<double>(top_p);
    double sum = 0;
    std::size_t kept = 0;
    // Usually a few candidates suffice, so sort the front in growing pieces instead of everything.
    for (std::size_t sorted = 0, piece = 64; kept < candidates.size() && (kept == 0 || sum < wanted);) {
        if (kept == sorted) {
            sorted = std::min(candidates.size(), sorted + piece);
            piece *= 8;
            const auto from = candidates.begin() + static_cast<std::ptrdiff_t>(kept);
            const auto to = candidates.begin() + static_cast<std::ptrdiff_t>(sorted);
            std::partial_sort(from, to, candidates.end(), more_probable);
        }
        sum += weight_of(candidates[kept++], largest, temperature);
    }
    candidates.resize(kept);
}

std::int32_t draw(std::vector<Candidate>& candidates, float largest, float temperature, float uniform) {
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate& a, const Candidate& b) { return a.token < b.token; });
    double total = 0;
    for (const Candidate& c : candidates) total += weight_of(c, largest, temperature);
    double sum = 0;
    for (const Candidate& c : candidates) {
        sum += weight_of(c, largest, temperature);
        if (sum > static_cast<double>(uniform) * total) return c.token;
    }
    return candidates.back().token;
}

}  // namespace

SampledToken sample_row(std::span<const float> logits, const SamplingView& sampling, std::int64_t row) {
    if (!usable(logits)) return {-1, std::numeric_limits<float>::quiet_NaN()};
    std::vector<Candidate> candidates(logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i) candidates[i] = {logits[i], static_cast<std::int32_t>(i)};
    penalize_and_bias(candidates, sampling, row);
    keep_allowed(candidates, sampling, row);
    if (candidates.empty()) return {-1, std::numeric_limits<float>::quiet_NaN()};

    const auto best = *std::min_element(candidates.begin(), candidates.end(), more_probable);
    const float temperature = sampling.temperature[row];
    if (temperature <= 0 || !std::isfinite(best.logit))
        return {best.token, log_probability_of(logits, best.token)};

    const auto top_k = static_cast<std::size_t>(sampling.top_k[row]);
    if (top_k > 0 && top_k < candidates.size()) {
        std::nth_element(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(top_k),
                         candidates.end(), more_probable);
        candidates.resize(top_k);
    }
    if (sampling.top_p[row] < 1) keep_top_p(candidates, best.logit, temperature, sampling.top_p[row]);
    std::erase_if(candidates, [&](const Candidate& c) {
        return weight_of(c, best.logit, temperature) < static_cast<double>(sampling.min_p[row]);
    });
    const std::int32_t token =
        draw(candidates, best.logit, temperature, uniform_of_step(sampling.seed[row], sampling.step[row]));
    return {token, log_probability_of(logits, token)};
}

void top_row(std::span<const float> logits, int n, std::int32_t* tokens, float* log_probabilities) {
    if (!usable(logits)) {
        std::fill_n(tokens, n, -1);
        std::fill_n(log_probabilities, n, std::numeric_limits<float>::quiet_NaN());
        return;
    }
    std::vector<Candidate> all(logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i) all[i] = {logits[i], static_cast<std::int32_t>(i)};
    std::partial_sort(all.begin(), all.begin() + n, all.end(), more_probable);
    const float largest = all.front().logit;
    const double log_total = log_sum(logits, largest);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        tokens[i] = all[i].token;
        log_probabilities[i] = static_cast<float>(static_cast<double>(all[i].logit - largest) - log_total);
    }
}

}  // namespace voltpile::llm
