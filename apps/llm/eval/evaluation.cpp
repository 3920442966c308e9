#include "llm/eval/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"

namespace voltpile::llm {

Evaluation evaluate(const TextScores& scores) {
    Evaluation result;
    result.tokens = std::ssize(scores.losses);
    result.loss = mean_of(scores.losses);
    result.perplexity = std::exp(result.loss.mean);
    result.perplexity_error = result.perplexity * result.loss.standard_error;  // to first order
    if (scores.divergences.empty()) return result;
    std::vector<double> sorted = scores.divergences;
    std::ranges::sort(sorted);
    result.divergence = {mean_of(scores.divergences), quantile(sorted, 0.5), quantile(sorted, 0.99),
                         sorted.back(),
                         static_cast<double>(scores.same_top) / static_cast<double>(sorted.size())};
    return result;
}

std::string evaluation_text(const Evaluation& evaluation) {
    std::string text =
        fmt::format("{:<15}{:.4f} +/- {:.4f}\n{:<15}{:.5f} +/- {:.5f} nats a token, of {} tokens\n",
                    "perplexity", evaluation.perplexity, evaluation.perplexity_error, "mean loss",
                    evaluation.loss.mean, evaluation.loss.standard_error, count_text(evaluation.tokens));
    if (const auto& divergence = evaluation.divergence)
        text += fmt::format(
            "{:<15}{:.6f} +/- {:.6f} nats a token; median {:.6f}, 99 % below {:.6f}, largest {:.6f}\n"
            "{:<15}{:.3f} % of the most probable tokens are the same\n",
            "KL divergence", divergence->mean.mean, divergence->mean.standard_error, divergence->median,
            divergence->percentile_99, divergence->largest, "top token", 100 * divergence->same_top);
    return text;
}

nlohmann::json evaluation_json(const Evaluation& evaluation) {
    nlohmann::json json{{"tokens", evaluation.tokens},
                        {"mean_loss", evaluation.loss.mean},
                        {"standard_error", evaluation.loss.standard_error},
                        {"perplexity", evaluation.perplexity},
                        {"perplexity_error", evaluation.perplexity_error}};
    if (const auto& divergence = evaluation.divergence)
        json["divergence"] = {
            {"mean", divergence->mean.mean},  {"standard_error", divergence->mean.standard_error},
            {"median", divergence->median},   {"percentile_99", divergence->percentile_99},
            {"largest", divergence->largest}, {"same_top", divergence->same_top}};
    return json;
}

}  // namespace voltpile::llm
