#include "llm/serve/prompt_scores.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "llm/serve/event_text.h"

namespace voltpile::llm {
namespace {

using nlohmann::ordered_json;

ordered_json score(const Tokenizer& tokenizer, TokenId token, float logprob, ordered_json rank) {
    return {{"logprob", finite_logprob(logprob)},
            {"rank", std::move(rank)},
            {"decoded_token", token_text(tokenizer, token)}};
}

}  // namespace

std::string prompt_scores_json(const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                               const Outcome& outcome, int most) {
    ordered_json list = ordered_json::array({nullptr});
    for (std::size_t i = 1; i < prompt.size(); ++i) {
        static const TopTokens none;
        const TopTokens& top = i <= outcome.prompt_top.size() ? outcome.prompt_top[i - 1] : none;
        const auto own = std::ranges::find(top.token, prompt[i]);
        const ordered_json rank =
            own == top.token.end() ? ordered_json() : ordered_json(own - top.token.begin() + 1);
        ordered_json scores = ordered_json::object();
        scores[std::to_string(prompt[i])] =
            score(tokenizer, prompt[i], outcome.prompt_log_probability[i - 1], rank);
        const auto shown = std::min(top.token.size(), static_cast<std::size_t>(most));
        for (std::size_t k = 0; k < shown; ++k)
            if (top.token[k] != prompt[i])
                scores[std::to_string(top.token[k])] =
                    score(tokenizer, top.token[k], top.log_probability[k], k + 1);
        list.push_back(std::move(scores));
    }
    return list.dump();
}

}  // namespace voltpile::llm
