#include <algorithm>

#include "llm/engine/draft_length.h"
#include "llm/engine/scheduler.h"
#include "llm/engine/sequence_cache.h"
#include "llm/engine/text_lookup.h"

namespace voltpile::llm {
namespace {

// Cuts a draft off before the first token that the sequence's grammar forbids or that must end its text.
void keep_allowed(const Sequence& sequence, std::vector<std::int32_t>& draft) {
    if (!sequence.grammar) return;
    GrammarMatcher matcher = *sequence.grammar;
    std::size_t allowed = 0;
    while (allowed < draft.size() && matcher.accept(draft[allowed]) && !matcher.finished() &&
           !matcher.stuck())
        ++allowed;
    draft.resize(allowed);
}

}  // namespace

double Scheduler::pass_cost(int rows) const {
    if (settings_.draft_pace.known()) return settings_.draft_pace.seconds(rows);
    return settings_.pass_rows + rows;
}

// Returns how many tokens may be drafted for a sequence whose tokens are all known. The other running
// sequences keep a page each.
int Scheduler::most_drafted(const Sequence& sequence) const {
    const auto spare = std::max<std::int64_t>(0, cache_.available() - std::ssize(running_));
    const std::int64_t room = (std::ssize(sequence.pages) + spare) * kv_page_tokens - sequence.computed - 1;
    return static_cast<int>(
        std::min<std::int64_t>({settings_.draft_tokens, sequence.most_tokens - sequence.drawn - 1, room}));
}

// Sets the drafts of the generating sequences of a pass without prompts, the oldest first.
void Scheduler::draft(const std::vector<SequencePtr>& generating) {
    if (settings_.draft_tokens == 0) return;
    auto rows = static_cast<int>(std::ssize(generating));
    double tokens = rows;
    const int most_rows = std::min({settings_.limits.rows, settings_.limits.logits});
    for (const SequencePtr& sequence : generating) {
        Sequence& s = *sequence;
        if (s.drawing > 0) continue;
        std::vector<std::int32_t> next = look_up_next(s.tokens, std::min(most_drafted(s), most_rows - rows));
        keep_allowed(s, next);
        if (next.empty()) continue;
        const double hit_rate = s.guesses.hit_rate();
        const int count = best_guesses(static_cast<int>(std::ssize(next)), hit_rate, rows, tokens,
                                       [this](int n) { return pass_cost(n); });
        if (count == 0) {
            s.guesses.skip();
            continue;
        }
        next.resize(static_cast<std::size_t>(count));
        make_room(cache_, s, s.computed + 1 + count);
        s.draft = std::move(next);
        rows += count;
        tokens += right_guesses(count, hit_rate);
    }
}

// Whether the next pass should wait for the tokens of the one in flight: because it checks drafts, or because
// a draft that continues its tokens is likely to be worth a check.
bool Scheduler::waits_for_tokens() const {
    if (settings_.draft_tokens == 0 || under_way_.empty()) return false;
    int generating = 0;
    bool reads = false;
    for (const auto& [age, sequence] : running_) {
        if (!sequence->draft.empty()) return true;
        generating += sequence->generates() ? 1 : 0;
        reads = reads || (sequence->goes_on() && !sequence->generates());
    }
    if (reads) return false;
    return std::ranges::any_of(running_, [&](const auto& each) {
        const Sequence& s = *each.second;
        if (!s.generates() || s.drawing == 0) return false;
        const int most = std::min(settings_.draft_tokens, s.most_tokens - s.drawn - 2);
        // The first of these tokens is the one in flight.
        const auto next = static_cast<int>(std::ssize(look_up_next(s.tokens, most + 1)));
        return best_guesses(next - 1, s.guesses.hit_rate(), generating, generating,
                            [this](int n) { return pass_cost(n); }) > 0;
    });
}

}  // namespace voltpile::llm
