// The log probabilities of the tokens of prompts, as the field prompt_logprobs asks for them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "llm/engine/request.h"
#include "llm/tokenizer/tokenizer.h"

namespace voltpile::llm {

struct PromptScores {
    std::vector<std::vector<TokenId>> prompts{};  // in their order; empty: nobody asks
    int most = 0;                                 // candidates beside each token

    bool wanted() const { return !prompts.empty(); }
};

// Returns a JSON list with null for the first token, about which nothing is known, and an object for each
// further one: the token and the `most` most probable ones, with logprob, rank and decoded_token by their
// numbers. The rank of a token that is not among those that the outcome has is null.
std::string prompt_scores_json(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                               const Outcome& outcome, int most);

}  // namespace voltpile::llm
