// Who is in the next pass: a state machine over tokens and pages of the cache, without a model, a processor
// or a clock.
//
// Requests are admitted in the order in which they came, each when the cache has pages for its prompt and one
// more for every sequence that runs. A pass of a lane has a row for each of the lane's sequences that
// generates, then pieces of prompts, the oldest first. Where few prompts are to be read beside sequences that
// generate (one, and one more for each few_prompts of these), their rows are to keep the pass within twice
// the time: rows * (1 + context / c) <= r. Otherwise they have all rows: many that were held back would leave
// the processor with a small batch. When pages run out, the youngest running sequence loses its own and
// waits, at its place in the order, to be computed anew.
//
// A sequence that generates belongs to the lane that has drawn for it. A prompt belongs to none: its pieces
// go into whatever pass comes next, so that those of one prompt follow each other through a pipeline. A stage
// works on passes in the order in which they are planned, and needs nothing of a piece but what it left in
// the cache itself; only the last one draws. For n pieces of R tokens over P stages the last stage is done
// after the time of n + P - 1 pieces. With a pass that takes as long as its rows and pass_rows more that is
// least for R / n = sqrt(R * pass_rows / (P - 1)): about so many rows have all pieces of a pass together, R
// being the tokens of all prompts that are read. With one lane they have all rows.
//
// What is known of the processor's pace decides
// - r, the rows for few prompts beside g sequences: the most for which seconds(g + r) <= mixed_slowdown *
//   seconds(g), and c = attention_context: a row that looks back at so many tokens counts twice. However few
//   that are, the first prompt gets a page of rows. Unknown: r = mixed_rows, c = mixed_context, and the first
//   prompt gets one row at least.
// - how many of the n sequences that could generate have a row in a pass without prompts:
//   PassPace::best_rows(n), by turns. So nobody is left out of two such passes in succession as long as each
//   leaves out less than half. Unknown: all.
//
// Whole pages of the same tokens after the same beginning are computed once: a sequence that comes to such a
// page while another computes it sits out that pass.
//
// With feeds, a pass is planned while the one before it runs, as if no sequence ended there but by its number
// of tokens: a row too many is thrown away. Sequences with penalties, whose draw needs all tokens before it,
// sit that pass out; if they are half of those that generate, or more, nothing is planned until they can come
// along.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "llm/engine/pass.h"
#include "llm/engine/pass_pace.h"
#include "llm/engine/prefix_cache.h"
#include "llm/engine/request.h"
#include "llm/engine/sequence.h"

namespace voltpile::llm {

struct SchedulerSettings {
    BatchLimits limits;  // of a pass
    int pages = 0;       // of the cache
    int context = 0;     // tokens of a sequence, prompt included
    int sequences = 0;   // running at once, in all lanes together
    int lanes = 1;       // PassExecutor::lanes()
    bool feeds = false;  // PassExecutor::feeds(); with one lane only
    PassPace pace;       // of the executor
    int mixed_rows = 128;
    int mixed_context = 16384;
    int pass_rows = 128;  // a large pass takes as long as its rows and so many more
};

// Throws JobError for a prompt of no tokens, and for one that leaves no room for more.
void check_prompt(std::size_t tokens, int context);

// Throws JobError for a request that can never be answered: an empty prompt, a token beyond the vocabulary is
// not looked for; more tokens than the context or the cache has room for.
void check_request(const Request& request, const SchedulerSettings& settings);

// A token of a sequence.
struct Progress {
    std::int64_t id = 0;
    std::size_t draw = 0;  // its place among those of the pass
    DrawnToken drawn;
    bool last = false;  // as many as were asked for, no more room, or -1: the sequence has ended
};

struct SchedulerCounters {
    int running = 0;  // now, as those that follow
    int generating = 0;
    int waiting = 0;
    int pages_in_use = 0;
    std::int64_t prompt_rows = 0;    // computed since the beginning, those computed anew among them
    std::int64_t shared_tokens = 0;  // found in the cache instead
    std::int64_t preemptions = 0;
};

class Scheduler {
  public:
    // Throws std::invalid_argument for settings that make no sense.
    explicit Scheduler(const SchedulerSettings& settings);

    // Throws as check_request(), and std::invalid_argument for an id that is under way.
    void add(Request request);

    // The next pass, to be enqueued at once; nothing if a pass under way must be completed first, or if there
    // is nothing to do.
    std::optional<PlannedPass> plan();
    // Requests that plan() has admitted for the first time since it was asked last.
    std::vector<std::int64_t> take_admitted() { return std::exchange(admitted_, {}); }

    // The oldest pass under way has drawn these. What is told of a sequence is its next token.
    std::vector<Progress> complete(std::span<const DrawnToken> drawn);

    // A sequence that goes on is to end here. Draws that are under way for it are not told of.
    void end(std::int64_t id);

    int under_way() const { return static_cast<int>(under_way_.size()); }  // passes
    bool idle() const { return by_id_.empty() && under_way_.empty(); }
    SchedulerCounters counters() const;
    const PrefixCache& cache() const { return cache_; }

  private:
    struct PassUnderWay {
        int lane = 0;
        std::vector<SequencePtr> sequences, drawing;
    };
    class Planning;      // of one pass
    class PromptBudget;  // of one pass
    struct PromptShare {
        double rows = 0;     // at the beginning of a text
        double context = 1;  // at which a row counts twice
        int least = 1;       // rows of the first prompt, which is not to starve
    };

    // Sequences that may generate in a pass.
    static int texts_of_pass(const BatchLimits& limits) {
        return std::min({limits.rows, limits.sequences, limits.logits});
    }
    std::optional<PlannedPass> plan_lane(int lane);
    std::vector<int> texts_of_lanes() const;  // that generate
    void balance(int lane);
    void admit();
    bool admit_first();
    void preempt(SequencePtr sequence);  // by value: it leaves the map that it may come from
    void remove(const SequencePtr& sequence);
    PromptShare prompt_share() const;                                   // of a pass
    int rows_of_pieces(const std::vector<SequencePtr>& prompts) const;  // together, of a pass
    void leave_out(int lane, std::vector<SequencePtr>& generating);
    std::uint64_t next_pass() const { return passes_ + 1; }

    SchedulerSettings settings_;
    PrefixCache cache_;
    SequencesByAge running_, waiting_;
    std::unordered_map<std::int64_t, SequencePtr> by_id_;
    std::vector<std::int64_t> turns_;  // of each lane: the age of the sequence left out first
    std::deque<PassUnderWay> under_way_;
    std::vector<std::int64_t> admitted_;
    std::uint64_t passes_ = 0;  // planned so far: the number of the last
    std::int64_t added_ = 0;
    int next_lane_ = 0;
    SchedulerCounters counters_;
};

}  // namespace voltpile::llm
