// What scores of a text say, for people and for programs: `voltpile model eval`.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "llm/eval/sample_statistics.h"
#include "llm/eval/score_text.h"

namespace voltpile::llm {

struct Divergence {
    SampleMean mean;  // in nats a token
    double median = 0;
    double percentile_99 = 0;
    double largest = 0;
    double same_top = 0;  // share of the tokens
};

struct Evaluation {
    std::int64_t tokens = 0;                 // scored
    SampleMean loss;                         // in nats a token
    double perplexity = 0;                   // exp(mean loss)
    std::optional<double> perplexity_error;  // none for one token
    std::optional<Divergence> divergence;
};

// scores: at least one token's.
Evaluation evaluate(const TextScores& scores);

std::string evaluation_text(const Evaluation& evaluation);
nlohmann::json evaluation_json(const Evaluation& evaluation);

}  // namespace voltpile::llm
