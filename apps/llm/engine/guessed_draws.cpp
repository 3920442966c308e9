#include "llm/engine/guessed_draws.h"

namespace voltpile::llm {
namespace {

using History = std::map<std::int32_t, std::int32_t>;

std::shared_ptr<const History> history_after(const Sequence& sequence,
                                             std::span<const std::int32_t> guessed) {
    if (!sequence.history || guessed.empty()) return sequence.history;
    auto history = std::make_shared<History>(*sequence.history);
    for (const std::int32_t token : guessed) ++(*history)[token];
    return history;
}

// The tokens that its grammar allows there; nullptr: all.
std::shared_ptr<const TokenMask> mask_after(const Sequence& sequence, std::span<const std::int32_t> guessed) {
    if (!sequence.grammar) return nullptr;
    if (guessed.empty()) return sequence.grammar->mask();
    GrammarMatcher matcher = *sequence.grammar;
    for (const std::int32_t token : guessed) matcher.accept(token);
    return matcher.mask();
}

}  // namespace

Draw draw_after(const Sequence& sequence, std::span<const std::int32_t> guessed, int before) {
    return {sequence.sampling, sequence.first_draw + before, history_after(sequence, guessed), 0,
            mask_after(sequence, guessed)};
}

std::size_t allowed_of(const Sequence& sequence, std::span<const std::int32_t> draft) {
    if (!sequence.grammar) return draft.size();
    GrammarMatcher matcher = *sequence.grammar;
    std::size_t allowed = 0;
    while (allowed < draft.size() && matcher.accept(draft[allowed]) && !matcher.finished() &&
           !matcher.stuck())
        ++allowed;
    return allowed;
}

}  // namespace voltpile::llm
