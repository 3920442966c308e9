// Answers many requests at once: a Scheduler that says what is computed, a PassExecutor that computes it, and
// what makes texts of tokens. On the rank that leads a replica.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <unordered_map>

#include "llm/engine/outcome.h"
#include "llm/engine/scheduler.h"
#include "llm/engine/written_text.h"

namespace voltpile::llm {

struct EngineSettings {
    SchedulerSettings scheduler;        // but for lanes and feeds, which the executor says
    std::vector<std::int64_t> end_ids;  // tokens of which any ends a text
};

// Since the engine began.
struct EngineCounters {
    SchedulerCounters scheduler;
    std::int64_t requests = 0;    // answered
    std::int64_t tokens_in = 0;   // of prompts whose first token is known
    std::int64_t tokens_out = 0;  // drawn and kept
    std::int64_t passes = 0;
    std::int64_t sequences = 0;  // summed over passes: over `passes`, the mean batch
    int largest_batch = 0;       // sequences of a pass
    double page_passes = 0;      // pages in use, summed over passes
    double waited_seconds = 0;   // for passes
    double busy_seconds = 0;     // at least: see Engine::step
};

class Engine {
  public:
    // All outlive it. tokenizer: nullptr makes no texts. Throws std::invalid_argument for settings that make
    // no sense.
    Engine(PassExecutor& executor, const Tokenizer* tokenizer, const EngineSettings& settings);

    // Each token of the text as it comes; false ends the text with it.
    using Told = std::function<bool(std::int32_t)>;

    // Throws JobError for a request that can never be answered: see check_request(); stop strings without a
    // tokenizer.
    void submit(Request request, Told told = {});

    // Has passes under way, as many as the executor wants, waits for the oldest, and returns what has been
    // answered with it, in the order of its draws; at once and nothing if idle(). A request whose logits are
    // no numbers ends with Finish::Failed, and the others go on. Throws Error if a pass fails.
    //
    // The executor is known to have been busy all the time between two passes if the later one had not ended
    // when it was waited for; that is counted as busy. Of other times only those in enqueue() are, unless the
    // executor feeds: those that compute on the host's own cores do it there.
    std::vector<Outcome> step();

    // Forgets all requests and waits for the passes under way: idle() again. Throws as step().
    void abandon();

    bool idle() const { return answers_.empty() && scheduler_.idle(); }
    EngineCounters counters() const;

  private:
    using Clock = std::chrono::steady_clock;
    struct Answer {
        explicit Answer(WrittenText written) : text(std::move(written)) {}
        Outcome outcome;
        WrittenText text;
        Told told;
        bool ignore_end = false;
        bool to_context = false;
        std::vector<std::int32_t> stop_tokens;
        Clock::time_point submitted, admitted, first, last;
    };

    void enqueue_all();
    std::vector<DrawnToken> collect();
    bool take(Answer& answer, const Progress& progress, TopTokens& top);
    Outcome finished(std::int64_t id);

    PassExecutor& executor_;
    const Tokenizer* tokenizer_;
    std::vector<std::int64_t> end_ids_;
    Scheduler scheduler_;
    std::unordered_map<std::int64_t, Answer> answers_;
    EngineCounters counters_;
    Clock::time_point computing_since_;  // the oldest pass under way, at the latest
    double enqueue_seconds_ = 0;         // since then
};

}  // namespace voltpile::llm
