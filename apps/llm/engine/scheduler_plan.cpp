#include <algorithm>
#include <cmath>
#include <limits>

#include "llm/decoder/batch_builder.h"
#include "llm/engine/guessed_draws.h"
#include "llm/engine/scheduler.h"
#include "llm/engine/sequence_cache.h"

namespace voltpile::llm {

// Assembles one pass. No page that it uses goes to another sequence while it is planned.
class Scheduler::Planning {
  public:
    Planning(Scheduler& scheduler, int lane) : of_(scheduler) { pass_.lane = under_way_.lane = lane; }

    int rows() const { return rows_; }
    int sequences() const { return static_cast<int>(std::ssize(under_way_.sequences)); }
    int draws() const { return static_cast<int>(std::ssize(under_way_.drawing)); }

    // Adds the next `count` tokens of a sequence and its draft. It has pages for them.
    void add(const SequencePtr& sequence, int count) {
        Sequence& s = *sequence;
        std::vector<std::int32_t> tokens;
        for (int i = s.computed; i < s.computed + count; ++i)
            tokens.push_back(i < std::ssize(s.tokens) ? s.tokens[static_cast<std::size_t>(i)]
                                                      : -1 - s.last_draw);
        tokens.insert(tokens.end(), s.draft.begin(), s.draft.end());
        const bool draws = count == s.rows_left();
        const bool scores = s.scores(count);
        builder_.add(s.pages, tokens, s.computed,
                     scores || !s.draft.empty() ? WantLogits::All
                     : draws                    ? WantLogits::Last
                                                : WantLogits::None,
                     s.adapter);
        if (scores)
            for (int row = 0; row < (draws ? count - 1 : count); ++row)
                add_draw(sequence, s.computed + row + 1, 0);
        if (draws) {
            s.lane = pass_.lane;  // for the tokens after this one too
            if (s.drawing > 0 && s.needs_all_tokens()) under_way_.draws_later = true;
            s.last_draw = this->draws();
            ++s.drawing;
            for (int guessed = 0; guessed <= std::ssize(s.draft); ++guessed) add_draw(sequence, 0, guessed);
        }
        s.computed += count;
        ++s.passes;
        under_way_.sequences.push_back(sequence);
        rows_ += static_cast<int>(std::ssize(tokens));
        keep_full_pages(of_.cache_, s, of_.next_pass());
    }

    PlannedPass take() {
        pass_.batch = builder_.take();
        pass_.moves = of_.cache_.take_moves();
        pass_.draws_later = under_way_.draws_later;
        if (!pass_.draws_later) pass_.draws = of_.draws_of(under_way_);
        ++of_.passes_;
        of_.under_way_.push_back(std::move(under_way_));
        return std::move(pass_);
    }

  private:
    void add_draw(const SequencePtr& sequence, int scored, int guessed) {
        under_way_.drawing.push_back(sequence);
        under_way_.scored.push_back(scored);
        under_way_.guessed.push_back(guessed);
    }

    Scheduler& of_;
    BatchBuilder builder_;
    PlannedPass pass_;
    PassUnderWay under_way_;
    int rows_ = 0;
};

std::vector<Draw> Scheduler::draws_of(const PassUnderWay& pass) const {
    std::vector<Draw> draws;
    for (std::size_t i = 0; i < pass.drawing.size(); ++i) {
        const Sequence& s = *pass.drawing[i];
        if (const int index = pass.scored[i]; index > 0) {  // the log-probability of a known token is wanted
            const auto token = static_cast<std::uint32_t>(s.tokens[static_cast<std::size_t>(index)]);
            auto mask = std::make_shared<std::vector<std::uint32_t>>(token / 32 + 1, 0);
            mask->back() = 1u << (token % 32);
            draws.push_back({greedy_, 0, nullptr, s.top_n, std::move(mask)});
        } else if (s.ended) {
            draws.push_back({greedy_, 0, nullptr});
        } else {
            const int guessed = pass.guessed[i];
            const auto draft = std::span(s.draft).first(static_cast<std::size_t>(guessed));
            draws.push_back(draw_after(s, draft, s.drawn + s.drawing - 1 + guessed));
            draws.back().top_n = s.top_n;
        }
    }
    return draws;
}

std::optional<std::vector<Draw>> Scheduler::take_late_draws() {
    if (under_way_.size() != 1 || !under_way_.front().draws_later) return std::nullopt;
    under_way_.front().draws_later = false;
    return draws_of(under_way_.front());
}

// See the top of scheduler.h.
constexpr int few_prompts = 8;
constexpr double crowd_rows = 2048;
constexpr int attention_context = 8192;

// Shares out the rows of a pass that are left for prompts.
class Scheduler::PromptBudget {
  public:
    PromptBudget(int rows, const PromptShare& share) : rows_(rows), share_(share) {}

    // Returns the rows of the sequence's next piece; 0 if there is no room. A piece that is not the last ends
    // with a page if that costs at most a quarter of its rows, so that other sequences find the page.
    int take(const Sequence& sequence) {
        const double row_cost = 1 + sequence.computed / share_.context;
        const double affordable = std::max<double>(share_.rows / row_cost, share_.least);
        int count = static_cast<int>(
            std::min({static_cast<double>(rows_), static_cast<double>(sequence.rows_left()), affordable}));
        if (count < sequence.rows_left()) {
            const int whole =
                (sequence.computed + count) / kv_page_tokens * kv_page_tokens - sequence.computed;
            if (4 * whole >= 3 * count) count = whole;
        }
        rows_ -= count;
        share_.rows -= count * row_cost;
        if (count > 0) share_.least = 0;
        return count;
    }

  private:
    int rows_;
    PromptShare share_;
};

std::optional<PlannedPass> Scheduler::plan() {
    if (!under_way_.empty() && under_way_.back().draws_later) return std::nullopt;
    const int most = settings_.feeds && !waits_for_tokens() ? 2 : 1;
    std::vector<int> free;  // lanes that can take another pass, the next one first
    for (int i = 0; i < settings_.lanes; ++i) {
        const int lane = (next_lane_ + i) % settings_.lanes;
        if (std::ranges::count(under_way_, lane, &PassUnderWay::lane) < most) free.push_back(lane);
    }
    if (settings_.lanes > 1)
        for (const int lane : free) balance(lane);
    for (const int lane : free) {
        if (auto pass = plan_lane(lane)) {
            next_lane_ = (lane + 1) % settings_.lanes;
            return pass;
        }
    }
    return std::nullopt;
}

std::optional<PlannedPass> Scheduler::plan_lane(int lane) {
    const auto running = [&](const auto& wanted) {
        std::vector<SequencePtr> found;
        for (const auto& [age, sequence] : running_)
            if (wanted(*sequence)) found.push_back(sequence);
        return found;
    };
    const auto generates = [&](const Sequence& s) { return s.lane == lane && s.generates(); };
    const PromptShare share = prompt_share();
    const std::int64_t preempted = counters_.preemptions;
    for (const SequencePtr& sequence : running(generates)) {
        while (sequence->lane >= 0 && !make_room(cache_, *sequence, sequence->computed + 1))
            preempt(running_.rbegin()->second);
    }
    if (counters_.preemptions == preempted) admit();

    Planning planning(*this, lane);
    const auto prompts = running([](const Sequence& s) { return s.goes_on() && !s.generates(); });
    auto generating = running(generates);
    if (prompts.empty()) {
        leave_out(lane, generating);
        draft(generating);
    }
    for (const SequencePtr& sequence : generating) planning.add(sequence, 1);

    PromptBudget budget(std::min(settings_.limits.rows - planning.rows(), rows_of_pieces(prompts)), share);
    for (const SequencePtr& sequence : prompts) {
        const int logits_left = settings_.limits.logits - planning.draws();
        if (planning.sequences() == most_generating(settings_.limits) || logits_left == 0) break;
        const int before = sequence->computed;
        const bool scores = sequence->score_until > 0;
        const bool comes = scores || use_kept_pages(cache_, *sequence, next_pass());
        count_shared(*sequence, sequence->computed - before);
        if (!comes) continue;
        int count = budget.take(*sequence);
        if (scores) count = std::min(count, logits_left);
        if (count == 0) break;
        counters_.prompt_rows += count;
        planning.add(sequence, count);
    }
    if (planning.rows() == 0) return std::nullopt;
    return planning.take();
}

// Returns the number of generating sequences of each lane.
std::vector<int> Scheduler::generating_by_lane() const {
    std::vector<int> counts(static_cast<std::size_t>(settings_.lanes), 0);
    for (const auto& [age, sequence] : running_)
        if (sequence->generates()) ++counts[static_cast<std::size_t>(sequence->lane)];
    return counts;
}

// Rebalances a lane between two of its passes: moves sequences, the youngest first, to the least-loaded lane.
// If all generating sequences fit into one pass of each lane, this lane then has no more than fit into one.
void Scheduler::balance(int lane) {
    std::vector<int> counts = generating_by_lane();
    int& own = counts[static_cast<std::size_t>(lane)];
    for (auto each = running_.rbegin(); each != running_.rend(); ++each) {
        const auto least = std::ranges::min_element(counts);
        if (own <= *least + 1) return;
        if (each->second->lane != lane || !each->second->generates()) continue;
        each->second->lane = static_cast<int>(least - counts.begin());
        --own;
        ++*least;
    }
}

// Returns what prompts may take of the next pass.
Scheduler::PromptShare Scheduler::prompt_share() const {
    const auto generating =
        std::ranges::count_if(running_, [](const auto& each) { return each.second->generates(); });
    const auto admitted = std::ssize(running_) - generating;
    const auto reading =
        admitted + std::min(std::ssize(waiting_), settings_.sequences - std::ssize(running_));
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (generating == 0) return {infinity};
    if (reading > 1 + generating / few_prompts) return {crowd_rows, infinity};
    const PassPace& pace = settings_.pace;
    if (!pace.known())
        return {static_cast<double>(settings_.mixed_rows), static_cast<double>(settings_.mixed_context)};
    const auto beside = static_cast<int>((generating + settings_.lanes - 1) / settings_.lanes);
    const int rows = pace.rows_within(mixed_slowdown * pace.seconds(beside)) - beside;
    return {static_cast<double>(rows), attention_context, kv_page_tokens};
}

// Returns how many rows the pieces of prompts in one pass get together.
int Scheduler::rows_of_pieces(const std::vector<SequencePtr>& prompts) const {
    const int most = settings_.limits.rows;
    if (settings_.lanes == 1 || prompts.empty()) return most;
    double all = 0;
    for (const SequencePtr& sequence : prompts) all += sequence->to_read;
    const double best = std::sqrt(all * settings_.pass_rows / (settings_.lanes - 1));
    double pieces = std::ceil(std::max({std::round(all / best), all / most, 1.0}));
    if (settings_.rows_to_cut > 0) {
        const double enough = settings_.rows_to_cut + kv_page_tokens - 1;  // pieces may end with a page
        pieces = std::min(pieces, std::max(std::floor(all / enough), 1.0));
    }
    return std::min(most, pages_for(static_cast<int>(std::ceil(all / pieces))) * kv_page_tokens);
}

// Leaves sequences out of a pass without prompts, in turn. generating: those of the lane, the oldest first.
void Scheduler::leave_out(int lane, std::vector<SequencePtr>& generating) {
    const int best = settings_.pace.best_rows(static_cast<int>(generating.size()));
    if (best == std::ssize(generating)) return;
    std::int64_t& turn = turns_[static_cast<std::size_t>(lane)];
    const auto age = [](const SequencePtr& each) { return each->age; };
    std::ranges::rotate(generating, std::ranges::lower_bound(generating, turn, {}, age));
    turn = generating[static_cast<std::size_t>(best)]->age;
    generating.resize(static_cast<std::size_t>(best));
}

}  // namespace voltpile::llm
