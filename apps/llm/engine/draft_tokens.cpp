#include "llm/engine/draft_tokens.h"

#include <utility>

#include "llm/grammar/token_masks.h"

namespace voltpile::llm {

DraftTokens::DraftTokens(std::vector<std::int32_t> tokens) : tokens_(std::move(tokens)) {
    for (std::size_t i = 0; i < tokens_.size(); ++i)
        draft_of_.emplace(tokens_[i], static_cast<std::int32_t>(i));
}

std::int32_t DraftTokens::in_vocabulary(std::int32_t drawn) const {
    return drawn < 0 || same() ? drawn : tokens_.at(static_cast<std::size_t>(drawn));
}

Draw DraftTokens::in_draft(Draw draw) const {
    if (same()) return draw;
    const auto renamed = [&]<class Number>(const std::map<std::int32_t, Number>& numbers) {
        std::map<std::int32_t, Number> of_draft;
        for (const auto& [token, number] : numbers)
            if (const auto found = draft_of_.find(token); found != draft_of_.end())
                of_draft.emplace(found->second, number);
        return of_draft;
    };
    if (draw.history)
        draw.history = std::make_shared<const std::map<std::int32_t, std::int32_t>>(renamed(*draw.history));
    if (!draw.settings->logit_bias.empty()) {
        auto settings = std::make_shared<SamplingSettings>(*draw.settings);
        settings->logit_bias = renamed(draw.settings->logit_bias);
        draw.settings = std::move(settings);
    }
    if (draw.mask) {
        auto mask = std::make_shared<TokenMask>((tokens_.size() + 31) / 32, 0U);
        for (std::size_t i = 0; i < tokens_.size(); ++i)
            if (allows(*draw.mask, tokens_[i])) (*mask)[i / 32] |= 1u << (i % 32);
        draw.mask = std::move(mask);
    }
    return draw;
}

}  // namespace voltpile::llm
