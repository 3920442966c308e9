#include <algorithm>

#include "llm/engine/draft_length.h"
#include "llm/engine/guessed_draws.h"
#include "llm/engine/scheduler.h"
#include "llm/engine/sequence_cache.h"
#include "llm/engine/text_lookup.h"

namespace voltpile::llm {
namespace {

// Of the record of guesses that do not pay, at each pass: a Drafter tries again after some 50 passes.
constexpr double kSeldomFaded = 0.003;

}  // namespace

double Scheduler::pass_cost(int rows) const {
    if (settings_.draft_pace.known()) return settings_.draft_pace.seconds(rows);
    return settings_.pass_rows + rows;
}

// Returns how many tokens may be drafted for a sequence after its known tokens and `more`. The other running
// sequences keep a page each.
int Scheduler::most_drafted(const Sequence& sequence, int more) const {
    const auto spare = std::max<std::int64_t>(0, cache_.available() - std::ssize(running_));
    const std::int64_t room = (std::ssize(sequence.pages) + spare) * kv_page_tokens - sequence.computed - 1;
    return static_cast<int>(std::min<std::int64_t>(
        {settings_.draft_tokens, sequence.most_tokens - sequence.drawn - 1 - more, room - more}));
}

// Sets the drafts of the generating sequences of a pass without prompts, the oldest first.
void Scheduler::draft(const std::vector<SequencePtr>& generating) {
    if (settings_.draft_tokens == 0) return;
    if (settings_.drafter != nullptr) return ask_drafter(generating);
    auto rows = static_cast<int>(std::ssize(generating));
    double tokens = rows;
    for (const SequencePtr& sequence : generating) {
        Sequence& s = *sequence;
        if (s.passes > 0) continue;  // a pass in flight may yet clear a draft, or draw a token before it
        std::vector<std::int32_t> next =
            look_up_next(s.tokens, std::min(most_drafted(s, 0), most_rows() - rows));
        next.resize(allowed_of(s, next));
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

// Returns how many tokens the drafter should guess for each sequence of a pass with this many rows. more: of
// their tokens are still to come.
std::vector<int> Scheduler::drafter_lengths(std::span<const SequencePtr> sequences, int rows,
                                            int more) const {
    std::vector<GuessChance> chances;
    for (const SequencePtr& sequence : sequences)
        chances.push_back({sequence->guesses.hit_rate(), std::min(most_drafted(*sequence, more),
                                                                  settings_.drafter->most(*sequence, more))});
    return best_draft_lengths(
        chances, rows, most_rows(), [this](int n) { return pass_cost(n); },
        [this](int n) { return settings_.drafter->seconds(n); });
}

// Does what draft() does with the drafter.
void Scheduler::ask_drafter(const std::vector<SequencePtr>& generating) {
    if (!under_way_.empty() && !settings_.drafts_beside_passes) {
        for (const SequencePtr& sequence : generating) sequence->guesses.skip(kSeldomFaded);
        return;
    }
    std::vector<SequencePtr> known;  // all their tokens are
    for (const SequencePtr& sequence : generating) {
        if (sequence->passes > 0)
            sequence->guesses.skip(kSeldomFaded);
        else
            known.push_back(sequence);
    }
    const std::vector<int> lengths = drafter_lengths(known, static_cast<int>(std::ssize(generating)), 0);
    std::vector<Drafter::Task> tasks;
    std::vector<Sequence*> guessing;
    for (std::size_t i = 0; i < known.size(); ++i) {
        Sequence& s = *known[i];
        const int length = std::min(lengths[i], most_drafted(s, 0));  // others have taken pages
        if (lengths[i] == 0) s.guesses.skip(kSeldomFaded);
        if (length < 1) continue;
        make_room(cache_, s, s.computed + 1 + length);
        tasks.push_back({&s, length});
        guessing.push_back(&s);
    }
    if (tasks.empty()) return;
    std::vector<std::vector<std::int32_t>> guesses = settings_.drafter->guess(tasks);
    for (std::size_t i = 0; i < tasks.size(); ++i) guessing[i]->draft = std::move(guesses[i]);
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
    if (settings_.drafter != nullptr) {
        std::vector<SequencePtr> next;
        for (const auto& [age, sequence] : running_)
            if (sequence->generates() && sequence->drawing > 0) next.push_back(sequence);
        return std::ranges::any_of(drafter_lengths(next, generating, 1), [](int n) { return n > 0; });
    }
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
