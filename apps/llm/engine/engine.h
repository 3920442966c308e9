// Answers many requests at once: a Scheduler plans passes, a PassExecutor runs them, and a tokenizer turns
// tokens into text. Runs on the leader of a replica.
//
// Threads. The thread of the engine calls wait(), step(), abandon() and idle(); other threads may meanwhile
// use the engine as a RequestQueue. With requests of its own only, one thread calls everything.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <unordered_map>

#include "llm/engine/inbox.h"
#include "llm/engine/request_queue.h"
#include "llm/engine/scheduler.h"
#include "llm/engine/written_text.h"

namespace voltpile::llm {

struct EngineSettings {
    SchedulerSettings scheduler;             // lanes and feeds are the executor's
    std::vector<std::int64_t> end_ids;       // tokens that end a sequence
    std::vector<std::string> adapters = {};  // their names, in the order in which they were loaded
    std::int64_t vocabulary = 0;  // tokens of the model; 0: requests are not checked for unknown tokens
};

// Throws JobError if the prompt or logit_bias has a token that a model with this vocabulary lacks.
void check_known_tokens(std::span<const std::int32_t> prompt, const RequestSettings& settings,
                        std::int64_t vocabulary);

// Returns the index of an adapter; -1 for an empty name. Throws JobError if there is none of this name.
int adapter_index(const std::string& name, std::span<const std::string> adapters);

// Throws JobError for a request that an engine with these settings rejects. text: whether it has a tokenizer.
void check_request(const Request& request, const EngineSettings& settings, bool text);

// Makes an outcome Finish::Failed by what a callback threw.
void fail(Outcome& outcome, const std::exception_ptr& thrown);

class Engine final : public RequestQueue {
  public:
    // executor, tokenizer: must outlive the engine; without a tokenizer (nullptr) outcomes have no text.
    // Throws std::invalid_argument for inconsistent settings.
    Engine(PassExecutor& executor, const Tokenizer* tokenizer, const EngineSettings& settings);

    void cancel(std::int64_t id) override { inbox_.cancel(id); }
    void close() override { inbox_.close(); }
    // Of the last step; requests that have come since count as waiting.
    EngineCounters counters() const override;

    // Sleeps until there is something to do for step(). Returns false if there never will be: after close(),
    // once all requests have ended.
    bool wait();

    // Accepts what has come, enqueues as many passes as the executor wants in flight, waits for the oldest,
    // and returns the outcomes of the requests that have ended and have no on_end: the cancelled ones, then
    // those that the pass finished, in the order of its draws. Returns at once if idle(). A request whose
    // logits are not finite ends with Finish::Failed, and the others go on. Throws Error if a pass fails; all
    // requests have then ended with Finish::Failed, and the queue is closed.
    //
    // Counts the time between two passes as busy if the engine had to wait for the later one. Otherwise it
    // counts only the time inside enqueue(), where executors on cores compute, and nothing if the executor
    // feeds.
    std::vector<Outcome> step();

    // Cancels all requests, forgets the outcomes of those without on_end, and waits for the passes in flight.
    // Then idle() is true, unless more requests have come. Throws Error as step() does.
    void abandon();

    bool idle() const { return answers_.empty() && scheduler_.idle() && inbox_.empty(); }

  private:
    using Clock = std::chrono::steady_clock;
    struct Answer {
        explicit Answer(WrittenText written) : text(std::move(written)) {}
        Outcome outcome;
        WrittenText text;
        std::size_t told = 0;  // tokens in deltas so far
        OnDelta on_delta;
        OnEnd on_end;
        bool ignore_end = false;
        bool to_context = false;
        std::vector<std::int32_t> stop_tokens;
        Clock::time_point submitted, admitted, first, last;  // zero: not yet
    };

    void add(Request request, OnDelta on_delta, OnEnd on_end) override;
    void accept(std::vector<Outcome>& ended);
    void enqueue_all();
    std::vector<DrawnToken> collect();
    std::vector<Progress> complete(std::span<const DrawnToken> drawn);
    void complete_pass(std::vector<Outcome>& ended);
    bool take(Answer& answer, const Progress& progress, TopTokens& top);
    void count_guesses(Outcome& outcome, const Progress& progress);
    static bool tell(Answer& answer);
    ShownTokens shown_in(const Request& request);
    void end(std::int64_t id, std::vector<Outcome>& ended);
    void end_all(Finish finish, const std::string& error);
    void publish();

    PassExecutor& executor_;
    const Tokenizer* tokenizer_;
    EngineSettings settings_;
    Scheduler scheduler_;
    std::optional<GrammarCache> grammars_;       // nothing without a tokenizer
    std::optional<ShownTokens> harmony_tokens_;  // once a request has channels
    Inbox inbox_;
    std::unordered_map<std::int64_t, Answer> answers_;
    EngineCounters counters_;
    mutable std::mutex published_mutex_;
    EngineCounters published_;           // counters_ after the last step, for other threads
    Clock::time_point computing_since_;  // when the oldest pass in flight began, at the latest
    double enqueue_seconds_ = 0;         // spent in enqueue() since then
};

}  // namespace voltpile::llm
