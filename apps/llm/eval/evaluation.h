// Summarizes the scores of a text, for people and for programs, in `voltpile model eval`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "llm/eval/sample_statistics.h"
#include "llm/eval/score_text.h"

namespace voltpile::llm {

struct Divergence {
    SampleMean mean;  // nats a token
    double median = 0;
    double percentile_99 = 0;
    double largest = 0;
    double same_top = 0;  // share of places where both models have the same most probable token
};

struct Evaluation {
    std::int64_t tokens = 0;                 // scored
    SampleMean loss;                         // nats a token
    double perplexity = 0;                   // exp(mean loss)
    std::optional<double> perplexity_error;  // none for a single token
    std::optional<Divergence> divergence;
};

// Summarizes scores of at least one token.
Evaluation evaluate(const TextScores& scores);

std::string evaluation_text(const Evaluation& evaluation);
nlohmann::json evaluation_json(const Evaluation& evaluation);

}  // namespace voltpile::llm
