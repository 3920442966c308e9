#include "llm/eval/evaluation.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "base/format.h"

namespace voltpile::llm {
namespace {

// Nothing where no error is known.
std::string error_text(std::optional<double> error, int digits) {
    return error ? fmt::format(" +/- {:.{}f}", *error, digits) : "";
}

nlohmann::json json_of(std::optional<double> figure) {
    return figure ? nlohmann::json(*figure) : nlohmann::json();
}

}  // namespace

Evaluation evaluate(const TextScores& scores) {
    Evaluation result;
    result.tokens = std::ssize(scores.losses);
    result.loss = mean_of(scores.losses);
    result.perplexity = std::exp(result.loss.mean);
    if (const auto error = result.loss.standard_error)
        result.perplexity_error = result.perplexity * *error;  // to first order
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
        fmt::format("{:<15}{:.4f}{}\n{:<15}{:.5f}{} nats a token, of {} token{}\n", "perplexity",
                    evaluation.perplexity, error_text(evaluation.perplexity_error, 4), "mean loss",
                    evaluation.loss.mean, error_text(evaluation.loss.standard_error, 5),
                    count_text(evaluation.tokens), evaluation.tokens == 1 ? "" : "s");
    if (const auto& divergence = evaluation.divergence)
        text += fmt::format(
            "{:<15}{:.6f}{} nats a token; median {:.6f}, 99 % below {:.6f}, largest {:.6f}\n"
            "{:<15}{:.3f} % of the most probable tokens are the same\n",
            "KL divergence", divergence->mean.mean, error_text(divergence->mean.standard_error, 6),
            divergence->median, divergence->percentile_99, divergence->largest, "top token",
            100 * divergence->same_top);
    return text;
}

nlohmann::json evaluation_json(const Evaluation& evaluation) {
    nlohmann::json json{{"tokens", evaluation.tokens},
                        {"mean_loss", evaluation.loss.mean},
                        {"standard_error", json_of(evaluation.loss.standard_error)},
                        {"perplexity", evaluation.perplexity},
                        {"perplexity_error", json_of(evaluation.perplexity_error)}};
    if (const auto& divergence = evaluation.divergence)
        json["divergence"] = {
            {"mean", divergence->mean.mean},  {"standard_error", json_of(divergence->mean.standard_error)},
            {"median", divergence->median},   {"percentile_99", divergence->percentile_99},
            {"largest", divergence->largest}, {"same_top", divergence->same_top}};
    return json;
}

}  // namespace voltpile::llm
