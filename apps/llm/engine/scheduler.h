// Decides which sequences are in the next pass: a state machine over tokens and KV cache pages, without a
// model, a processor or a clock.
//
// Admission. Requests are admitted in the order of a WaitingLine (those of one owner in the order of
// arrival), each when the cache has pages for its prompt and one more for every running sequence. When pages
// run out, the youngest running sequence is preempted: it loses its pages and waits, at its place in the
// order, to be computed again.
//
// Passes. A pass has one row for each generating sequence of its lane, then pieces of prompts, the oldest
// first. When few prompts are read beside generating sequences (at most one, plus one for every few_prompts
// generating sequences), their rows are limited so that the pass takes less than twice as long:
// rows * (1 + context / c) <= r. More prompts get crowd_rows rows, because holding back many prompts would
// leave the processor with a small batch, and all rows while no sequence generates.
//
// Lanes. A generating sequence belongs to the lane that drew for it. A prompt belongs to none: its pieces go
// into whichever passes come next, so that pieces of one prompt follow each other through the pipeline. A
// stage runs passes in the order of planning and needs nothing of a piece except what it left in the cache
// itself; only the last piece draws. Over P stages, the last one finishes n pieces of R tokens after the time
// of n + P - 1 pieces. If a pass takes the time of its rows plus pass_rows, that is least for
// R / n = sqrt(R * pass_rows / (P - 1)). So all pieces in a pass together get about that many rows, where R
// counts the tokens of all prompts being read. With one lane they get all rows. With rows_to_cut, the
// pieces in a pass have at least that many together if the tokens suffice.
//
// Pace. If the processor's pace is known, it decides
// - r, the rows for few prompts beside g sequences: the most for which seconds(g + r) <= mixed_slowdown *
//   seconds(g), with c = attention_context: a row that looks back at c tokens counts twice. The first prompt
//   gets at least a page of rows. If the pace is unknown, r = mixed_rows, c = mixed_context, and the first
//   prompt gets at least one row.
// - how many of n generating sequences have a row in a pass without prompts: PassPace::best_rows(n), in turn.
//   No sequence sits out two such passes in succession as long as each leaves out less than half. If the pace
//   is unknown, all have a row.
//
// Prefixes. Whole pages of the same tokens after the same prefix are computed once: a sequence that comes to
// a page that another one computes in this pass sits out the pass. Pages that nobody uses move to host memory
// when others need their room, and come back for a sequence that begins with them: a conversation that
// continues, or a sequence that was preempted.
//
// Scores. A prompt whose tokens' log-probabilities are wanted takes nothing from the cache, and each of its
// rows has logits and a draw that only the next token of the prompt is allowed in. The rows of logits in a
// pass are limited, and so are its pieces.
//
// Drafts. With draft_tokens, a generating sequence in a pass without prompts may have more rows: tokens that
// are likely to come next (text_lookup.h, or those of a Drafter), each with a draw as if all before it were
// right. As long as the token drawn is the one guessed, the next draw counts too. Every draw that counts has
// the settings, the number and the tokens before it that it would have without drafts, so the tokens are the
// same. What the cache has of wrong guesses is overwritten. A sequence drafts as many tokens as pay by its
// record of right guesses and the cost of rows: draft_pace, or pass_rows if that is unknown. Drafts take only
// pages that no running sequence needs for its next token. Drafts need all tokens before them: with feeds, a
// pass waits for the previous one if that has drafts, or if a draft after its tokens is likely to pay. A
// Drafter guesses for all sequences of a pass together, as many tokens for each as pay by the paces of both;
// while other passes are in flight only with drafts_beside_passes.
//
// Feeds. With feeds, a pass is planned while the previous one runs, as if no sequence ended there except by
// its number of tokens; a row for a sequence that did end is discarded. The draw of a sequence with penalties
// or a grammar depends on all tokens before it. The draws of a pass that has such a sequence come later: the
// processor computes the logits while the host waits for the tokens of the previous pass and makes masks.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "llm/engine/counters.h"
#include "llm/engine/drafter.h"
#include "llm/engine/pass.h"
#include "llm/engine/pass_pace.h"
#include "llm/engine/prefix_cache.h"
#include "llm/engine/request.h"
#include "llm/engine/sequence.h"
#include "llm/engine/waiting_line.h"

namespace voltpile::llm {

struct SchedulerSettings {
    BatchLimits limits;  // of a pass
    int pages = 0;       // of the KV cache
    int host_pages = 0;  // in host memory, for what the cache has no room for
    int context = 0;     // tokens of a sequence, including the prompt
    int sequences = 0;   // the most running at once, in all lanes together
    int lanes = 1;       // PassExecutor::lanes()
    bool feeds = false;  // PassExecutor::feeds(); with one lane only
    PassPace pace;       // of the executor
    int mixed_rows = 128;
    int mixed_context = 16384;
    int pass_rows = 128;   // the fixed cost of a pass, as a number of rows
    int rows_to_cut = 0;   // see ReplicaPlan::rows_to_cut
    int draft_tokens = 0;  // the most tokens guessed ahead for a sequence in a pass; 0: none
    PassPace draft_pace;   // of decode steps with one row for each sequence or guess
    // What guesses; must outlive the scheduler and needs draft_pace. nullptr: text_lookup.h.
    Drafter* drafter = nullptr;
    bool drafts_beside_passes = false;  // the drafter's passes need not wait for those in flight
};

// Throws JobError for a prompt without tokens, and for one that fills the context.
void check_prompt(std::size_t tokens, int context);

// Throws JobError for a request that can never be answered: an empty prompt, a negative max_tokens, or more
// tokens than fit into the context or the cache. Does not check that tokens are in the vocabulary.
void check_request(const Request& request, const SchedulerSettings& settings);

// The next token of a sequence.
struct Progress {
    std::int64_t id = 0;
    std::size_t draw = 0;  // index into the draws of the pass
    DrawnToken drawn;
    bool last = false;      // the sequence has ended: all tokens drawn, or a token of -1
    int shared_tokens = 0;  // of its prompt, found in the cache
    bool finished = false;  // the text is complete, and its grammar allows no more
    // Why the token is -1: no token continues the text within its grammar.
    bool no_token_allowed = false;
    int drafted = 0;       // tokens that the pass had guessed to follow this one
    bool guessed = false;  // the token follows a right guess: it took no pass of its own
    // The token is the next one of the prompt, and only its log-probability is new.
    bool scored = false;
};

class Scheduler {
  public:
    // Throws std::invalid_argument for inconsistent settings.
    explicit Scheduler(const SchedulerSettings& settings);

    // Adds a request. Throws JobError as check_request() does, and std::invalid_argument if the id is in use.
    void add(Request request);

    // Plans the next pass, which the caller must enqueue at once. Returns nothing if a pass in flight must
    // complete first, if its draws have not been taken, or if there is nothing to do.
    std::optional<PlannedPass> plan();
    // Returns the requests that plan() admitted for the first time since the last call.
    std::vector<std::int64_t> take_admitted() { return std::exchange(admitted_, {}); }

    // Completes the oldest pass in flight with the tokens it drew. Returns the next token of each of its
    // sequences that has not ended.
    std::vector<Progress> complete(std::span<const DrawnToken> drawn);

    // Returns the draws of the last pass, if it was planned without them and the pass before has completed.
    // The caller must pass them to the executor at once.
    std::optional<std::vector<Draw>> take_late_draws();

    // Ends a sequence early. Its draws in flight are discarded. Has no effect on one that has ended.
    void end(std::int64_t id);

    int under_way() const { return static_cast<int>(under_way_.size()); }  // passes in flight
    bool idle() const { return by_id_.empty() && under_way_.empty(); }
    SchedulerCounters counters() const;
    const PrefixCache& cache() const { return cache_; }

  private:
    struct PassUnderWay {
        int lane = 0;
        std::vector<SequencePtr> sequences, drawing;
        std::vector<int> scored;   // for each of `drawing`: the index of the prompt's token; 0: a true draw
        std::vector<int> guessed;  // for each of `drawing`: how many tokens of the draft precede the draw
        bool draws_later = false;  // and they have not been taken
    };
    class Planning;
    class PromptBudget;
    // What prompts may take of a pass.
    struct PromptShare {
        double rows = 0;     // r, see the top of this file
        double context = 1;  // c: the context at which a row counts twice
        int least = 1;       // rows for the first prompt, so that it does not starve
    };

    // The most sequences that can generate in one pass.
    static int most_generating(const BatchLimits& limits) {
        return std::min({limits.rows, limits.sequences, limits.logits});
    }
    std::optional<PlannedPass> plan_lane(int lane);
    std::vector<int> generating_by_lane() const;
    void balance(int lane);
    void admit();
    bool admit_first();
    void count_shared(Sequence& sequence, int tokens);
    void preempt(SequencePtr sequence);  // by value, because the caller's reference may be into running_
    void remove(const SequencePtr& sequence);
    PromptShare prompt_share() const;
    int rows_of_pieces(const std::vector<SequencePtr>& prompts) const;
    std::vector<Draw> draws_of(const PassUnderWay& pass) const;
    double pass_cost(int rows) const;
    int most_drafted(const Sequence& sequence, int more) const;
    void draft(const std::vector<SequencePtr>& generating);
    int most_rows() const { return std::min(settings_.limits.rows, settings_.limits.logits); }
    std::vector<int> drafter_lengths(std::span<const SequencePtr> sequences, int rows, int more) const;
    void ask_drafter(const std::vector<SequencePtr>& generating);
    bool waits_for_tokens() const;
    void leave_out(int lane, std::vector<SequencePtr>& generating);
    std::uint64_t next_pass() const { return passes_ + 1; }

    SchedulerSettings settings_;
    std::shared_ptr<const SamplingSettings> greedy_ = std::make_shared<const SamplingSettings>();
    PrefixCache cache_;
    SequencesByAge running_;
    WaitingLine waiting_;
    std::unordered_map<std::int64_t, SequencePtr> by_id_;
    std::vector<std::int64_t> turns_;  // by lane: the age of the first sequence that was left out
    std::deque<PassUnderWay> under_way_;
    std::vector<std::int64_t> admitted_;
    std::uint64_t passes_ = 0;  // planned so far, and so the number of the last pass
    std::int64_t added_ = 0;
    GuessRecord guesses_;  // of all sequences, if a drafter guesses; where new ones begin
    int next_lane_ = 0;
    SchedulerCounters counters_;
};

}  // namespace voltpile::llm
