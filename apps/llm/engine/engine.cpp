#include "llm/engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/seconds_since.h"

namespace voltpile::llm {
namespace {

// Shorter waits do not show that the executor was still computing.
constexpr double noticeable_s = 20e-6;

SchedulerSettings for_executor(SchedulerSettings settings, const PassExecutor& executor) {
    settings.lanes = executor.lanes();
    settings.feeds = executor.feeds();
    return settings;
}

double seconds_between(std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end) {
    return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

Engine::Engine(PassExecutor& executor, const Tokenizer* tokenizer, const EngineSettings& settings)
    : executor_(executor),
      tokenizer_(tokenizer),
      end_ids_(settings.end_ids),
      scheduler_(for_executor(settings.scheduler, executor)) {}

void Engine::submit(Request request, OnToken on_token) {
    if (!request.stop.empty() && tokenizer_ == nullptr)
        throw JobError("stop strings need a model with a tokenizer");
    Answer answer(WrittenText(tokenizer_, request.continues, request.stop));
    answer.outcome.id = request.id;
    answer.outcome.prompt_tokens = static_cast<int>(request.prompt.size());
    answer.on_token = std::move(on_token);
    answer.ignore_end = request.ignore_end;
    answer.to_context = request.max_tokens == 0;
    answer.stop_tokens = request.stop_tokens;
    answer.submitted = Clock::now();
    const std::int64_t id = request.id;
    scheduler_.add(std::move(request));
    answers_.emplace(id, std::move(answer));
}

void Engine::enqueue_all() {
    for (;;) {
        const auto pass = scheduler_.plan();
        for (const std::int64_t id : scheduler_.take_admitted()) answers_.at(id).admitted = Clock::now();
        if (!pass) return;
        if (scheduler_.under_way() == 1) computing_since_ = Clock::now();
        const auto sequences = static_cast<int>(pass->batch.row_begin.size()) - 1;
        ++counters_.passes;
        counters_.sequences += sequences;
        counters_.largest_batch = std::max(counters_.largest_batch, sequences);
        counters_.page_passes += scheduler_.counters().pages_in_use;
        const auto begin = Clock::now();
        executor_.enqueue(*pass);
        if (!executor_.feeds()) enqueue_seconds_ += seconds_since(begin);
    }
}

std::vector<DrawnToken> Engine::collect() {
    const auto begin = Clock::now();
    auto drawn = executor_.collect();
    const auto end = Clock::now();
    counters_.waited_seconds += seconds_between(begin, end);
    const bool waited = seconds_between(begin, end) > noticeable_s;
    counters_.busy_seconds += waited ? seconds_between(computing_since_, end) : enqueue_seconds_;
    enqueue_seconds_ = 0;
    computing_since_ = end;
    return drawn;
}

std::vector<Outcome> Engine::step() {
    enqueue_all();
    if (scheduler_.under_way() == 0) return {};
    const auto drawn = collect();
    auto top = executor_.top();
    top.resize(drawn.size());
    std::vector<Outcome> outcomes;
    std::string why_no_numbers;
    for (const Progress& progress : scheduler_.complete(drawn)) {
        if (!take(answers_.at(progress.id), progress, top[progress.draw])) continue;
        if (!progress.last) scheduler_.end(progress.id);
        Outcome& outcome = outcomes.emplace_back(finished(progress.id));
        if (outcome.finish != Finish::Failed) continue;
        if (why_no_numbers.empty()) why_no_numbers = executor_.why_no_numbers();
        outcome.error = why_no_numbers;
    }
    return outcomes;
}

void Engine::abandon() {
    for (const auto& each : answers_) scheduler_.end(each.first);
    answers_.clear();
    while (scheduler_.under_way() > 0) scheduler_.complete(collect());
}

// Adds a token to an answer. Returns true if the sequence ends with it.
bool Engine::take(Answer& answer, const Progress& progress, TopTokens& top) {
    Outcome& outcome = answer.outcome;
    const DrawnToken& drawn = progress.drawn;
    answer.last = Clock::now();
    if (outcome.token_seconds.empty()) {
        answer.first = answer.last;
        counters_.tokens_in += outcome.prompt_tokens;
    }
    outcome.token_seconds.push_back(seconds_between(answer.submitted, answer.last));
    const auto ends = [&](Finish finish) {
        outcome.finish = finish;
        return true;
    };
    if (drawn.token < 0) return ends(Finish::Failed);
    if (!answer.ignore_end && std::ranges::find(end_ids_, drawn.token) != end_ids_.end())
        return ends(Finish::End);
    if (std::ranges::find(answer.stop_tokens, drawn.token) != answer.stop_tokens.end())
        return ends(Finish::Stopped);
    ++counters_.tokens_out;
    outcome.tokens.push_back(drawn.token);
    outcome.log_probability.push_back(drawn.log_probability);
    if (!top.token.empty()) outcome.top.push_back(std::move(top));
    const bool stopped = !answer.text.push(drawn.token);
    const bool unwanted = answer.on_token && !answer.on_token(drawn.token);
    if (stopped || unwanted) return ends(Finish::Stopped);
    return progress.last && ends(answer.to_context ? Finish::Context : Finish::Length);
}

Outcome Engine::finished(std::int64_t id) {
    const auto place = answers_.find(id);
    Answer& answer = place->second;
    Outcome outcome = std::move(answer.outcome);
    outcome.text = answer.text.take();
    outcome.queue_seconds = seconds_between(answer.submitted, answer.admitted);
    outcome.prompt_seconds = seconds_between(answer.admitted, answer.first);
    outcome.generation_seconds = seconds_between(answer.first, answer.last);
    answers_.erase(place);
    ++counters_.requests;
    return outcome;
}

EngineCounters Engine::counters() const {
    EngineCounters now = counters_;
    now.scheduler = scheduler_.counters();
    return now;
}

}  // namespace voltpile::llm
