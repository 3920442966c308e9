// Answers many requests at once: a Scheduler plans passes, a PassExecutor runs them, and a tokenizer turns
// tokens into text. Runs on the leader of a replica.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <unordered_map>

#include "llm/engine/request.h"
#include "llm/engine/scheduler.h"
#include "llm/engine/written_text.h"

namespace voltpile::llm {

struct EngineSettings {
    SchedulerSettings scheduler;        // lanes and feeds are the executor's
    std::vector<std::int64_t> end_ids;  // tokens that end a sequence
};

// Counts since the engine was created.
struct EngineCounters {
    SchedulerCounters scheduler;
    std::int64_t requests = 0;    // answered
    std::int64_t tokens_in = 0;   // prompt tokens of requests whose first token is known
    std::int64_t tokens_out = 0;  // drawn and kept
    std::int64_t passes = 0;
    std::int64_t sequences = 0;  // summed over passes; divided by `passes`, the mean batch
    int largest_batch = 0;       // the most sequences in a pass
    double page_passes = 0;      // pages in use, summed over passes
    double waited_seconds = 0;   // spent waiting for passes
    double busy_seconds = 0;     // a lower bound, see Engine::step()
};

class Engine {
  public:
    // executor, tokenizer: must outlive the engine; without a tokenizer (nullptr) outcomes have no text.
    // Throws std::invalid_argument for inconsistent settings.
    Engine(PassExecutor& executor, const Tokenizer* tokenizer, const EngineSettings& settings);

    // Receives each token of a sequence as it is drawn. Returning false ends the sequence after this token.
    using OnToken = std::function<bool(std::int32_t)>;

    // Adds a request. Throws JobError if it can never be answered, see check_request(), or if it has stop
    // strings and there is no tokenizer.
    void submit(Request request, OnToken on_token = {});

    // Enqueues as many passes as the executor wants in flight, waits for the oldest, and returns the requests
    // that it finished, in the order of its draws. Returns nothing at once if idle(). A request whose logits
    // are not finite ends with Finish::Failed, and the others go on. Throws Error if a pass fails.
    //
    // Counts the time between two passes as busy if the engine had to wait for the later one. Otherwise it
    // counts only the time inside enqueue(), where executors on cores compute, and nothing if the executor
    // feeds.
    std::vector<Outcome> step();

    // Drops all requests and waits for the passes in flight. Then idle() is true. Throws Error as step()
    // does.
    void abandon();

    bool idle() const { return answers_.empty() && scheduler_.idle(); }
    EngineCounters counters() const;

  private:
    using Clock = std::chrono::steady_clock;
    struct Answer {
        explicit Answer(WrittenText written) : text(std::move(written)) {}
        Outcome outcome;
        WrittenText text;
        OnToken on_token;
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
    Clock::time_point computing_since_;  // when the oldest pass in flight began, at the latest
    double enqueue_seconds_ = 0;         // spent in enqueue() since then
};

}  // namespace voltpile::llm
