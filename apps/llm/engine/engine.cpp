#include "llm/engine/engine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/phase.h"
#include "base/seconds_since.h"
#include "llm/grammar/harmony.h"
#include "llm/tokenizer/utf8.h"

namespace voltpile::llm {
namespace {

// Shorter waits do not show that the executor was still computing.
constexpr double noticeable_s = 20e-6;

SchedulerSettings for_executor(SchedulerSettings settings, const PassExecutor& executor) {
    settings.lanes = executor.lanes();
    settings.feeds = executor.feeds();
    return settings;
}

using TimePoint = std::chrono::steady_clock::time_point;

double seconds_between(TimePoint begin, TimePoint end) {
    return std::chrono::duration<double>(end - begin).count();
}

// The time between two events, the later of which may not have happened.
double seconds_if_both(TimePoint begin, TimePoint end) {
    return begin == TimePoint() || end == TimePoint() ? 0 : seconds_between(begin, end);
}

std::string text_of(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
        return error.what();
    } catch (...) {
        return "a callback threw something that is not a std::exception";
    }
}

}  // namespace

void check_known_tokens(std::span<const std::int32_t> prompt, const RequestSettings& settings,
                        std::int64_t vocabulary) {
    const auto check = [&](std::int32_t token, std::string_view where) {
        if (token < 0 || token >= vocabulary)
            throw JobError(fmt::format("{} has the token {}, but the model's tokens are 0 to {}", where,
                                       token, vocabulary - 1));
    };
    for (const std::int32_t token : prompt) check(token, "the prompt");
    for (const auto& [token, bias] : settings.sampling.logit_bias) check(token, "logit_bias");
}

int adapter_index(const std::string& name, std::span<const std::string> adapters) {
    if (name.empty()) return -1;
    const auto found = std::ranges::find(adapters, name);
    if (found != adapters.end()) return static_cast<int>(found - adapters.begin());
    throw JobError(
        adapters.empty()
            ? fmt::format("there is no adapter \"{}\": the model was started without adapters", name)
            : fmt::format("there is no adapter \"{}\"; there are {}", name, fmt::join(adapters, ", ")));
}

void check_request(const Request& request, const EngineSettings& settings, bool text) {
    check_request(request, settings.scheduler);
    adapter_index(request.lora, settings.adapters);
    if (!request.stop.empty() && !text) throw JobError("stop strings need a model with a tokenizer");
    if (request.grammar && !text) throw JobError("a grammar needs a model with a tokenizer");
    if (request.grammar && request.ignore_end)
        throw JobError(
            "ignore_end and a grammar exclude each other: the grammar decides where the text ends");
    for (const std::string& stop : request.stop)
        if (find_invalid_utf8(stop)) throw JobError("a stop string is not UTF-8");
    if (settings.vocabulary > 0) check_known_tokens(request.prompt, request, settings.vocabulary);
}

void fail(Outcome& outcome, const std::exception_ptr& thrown) {
    outcome.finish = Finish::Failed;
    outcome.error = text_of(thrown);
    outcome.thrown = thrown;
}

Engine::Engine(PassExecutor& executor, const Tokenizer* tokenizer, const EngineSettings& settings)
    : executor_(executor),
      tokenizer_(tokenizer),
      settings_(settings),
      scheduler_(for_executor(settings.scheduler, executor)) {
    if (tokenizer_ != nullptr) grammars_.emplace(*tokenizer_, settings_.end_ids);
    publish();
}

void Engine::add(Request request, OnDelta on_delta, OnEnd on_end) {
    check_request(request, settings_, tokenizer_ != nullptr);
    request.adapter = adapter_index(request.lora, settings_.adapters);
    if (request.grammar) request.compiled_grammar = grammars_->compile(*request.grammar);
    inbox_.add({std::move(request), std::move(on_delta), std::move(on_end), Clock::now()});
}

bool Engine::wait() {
    if (!answers_.empty() || scheduler_.under_way() > 0) return true;
    return inbox_.wait();
}

// Returns the special tokens whose names belong to the text.
ShownTokens Engine::shown_in(const Request& request) {
    if (request.compiled_grammar) return request.compiled_grammar->trie().shown();
    if (!request.channels || tokenizer_ == nullptr) return {};
    if (!harmony_tokens_) harmony_tokens_ = harmony_tokens(*tokenizer_);
    return *harmony_tokens_;
}

// Takes over what has come from other threads.
void Engine::accept(std::vector<Outcome>& ended) {
    Inbox::Contents contents = inbox_.take();
    for (Inbox::Arrival& arrival : contents.arrivals) {
        Request& request = arrival.request;
        Answer answer(WrittenText(tokenizer_, request.continues, request.stop, shown_in(request)));
        answer.outcome.id = request.id;
        answer.outcome.prompt_tokens = static_cast<int>(request.prompt.size());
        answer.on_delta = std::move(arrival.on_delta);
        answer.on_end = std::move(arrival.on_end);
        answer.ignore_end = request.ignore_end;
        answer.to_context = request.max_tokens == 0;
        answer.stop_tokens = request.stop_tokens;
        answer.submitted = arrival.submitted;
        answers_.emplace(request.id, std::move(answer));
        scheduler_.add(std::move(request));
    }
    for (const std::int64_t id : contents.cancelled) {
        const auto found = answers_.find(id);
        if (found == answers_.end()) continue;  // it has ended meanwhile
        found->second.outcome.finish = Finish::Cancelled;
        scheduler_.end(id);
        end(id, ended);
    }
}

void Engine::enqueue_all() {
    for (;;) {
        const auto begin = Clock::now();  // planning includes the passes of a drafter
        const auto pass = scheduler_.plan();
        for (const std::int64_t id : scheduler_.take_admitted()) answers_.at(id).admitted = Clock::now();
        if (!pass) return;
        if (scheduler_.under_way() == 1) computing_since_ = begin;
        const auto sequences = static_cast<int>(pass->batch.row_begin.size()) - 1;
        ++counters_.passes;
        counters_.sequences += sequences;
        counters_.largest_batch = std::max(counters_.largest_batch, sequences);
        counters_.page_passes += scheduler_.counters().pages_in_use;
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

// Completes the oldest pass, and starts the draws that depend on its tokens.
std::vector<Progress> Engine::complete(std::span<const DrawnToken> drawn) {
    std::vector<Progress> progress = scheduler_.complete(drawn);
    if (const auto draws = scheduler_.take_late_draws()) executor_.draw(*draws);
    return progress;
}

std::vector<Outcome> Engine::step() {
    const InPhase computing(Phase::Compute);
    std::vector<Outcome> ended;
    try {
        accept(ended);
        enqueue_all();
        if (scheduler_.under_way() > 0) complete_pass(ended);
    } catch (const std::exception& error) {
        inbox_.close();
        end_all(Finish::Failed, error.what());
        throw;
    }
    publish();
    return ended;
}

void Engine::complete_pass(std::vector<Outcome>& ended) {
    const auto drawn = collect();
    auto top = executor_.top();
    top.resize(drawn.size());
    std::string why_no_numbers;
    for (const Progress& progress : complete(drawn)) {
        const auto found = answers_.find(progress.id);
        if (found == answers_.end()) continue;  // it ended with an earlier token of this pass
        Answer& answer = found->second;
        if (!take(answer, progress, top[progress.draw])) continue;
        if (!progress.last) scheduler_.end(progress.id);
        if (progress.drawn.token < 0) {
            if (why_no_numbers.empty() && !progress.no_token_allowed)
                why_no_numbers = executor_.why_no_numbers();
            answer.outcome.error = why_no_numbers;
            if (progress.no_token_allowed) answer.outcome.error = GrammarMatcher::why_stuck();
        }
        end(progress.id, ended);
    }
}

void Engine::abandon() {
    for (const auto& each : answers_) scheduler_.end(each.first);
    end_all(Finish::Cancelled, "");
    while (scheduler_.under_way() > 0) complete(collect());
    publish();
}

// Ends all requests outside the scheduler.
void Engine::end_all(Finish finish, const std::string& error) {
    std::vector<Outcome> unwanted;
    for (Inbox::Arrival& arrival : inbox_.take().arrivals) {
        Answer answer(WrittenText(nullptr, false, {}));
        answer.outcome.id = arrival.request.id;
        answer.on_end = std::move(arrival.on_end);
        answers_.emplace(arrival.request.id, std::move(answer));
    }
    while (!answers_.empty()) {
        Outcome& outcome = answers_.begin()->second.outcome;
        outcome.finish = finish;
        outcome.error = error;
        outcome.engine_failed = finish == Finish::Failed;
        end(answers_.begin()->first, unwanted);
    }
}

// Adds a token to an answer. Returns true if the sequence ends with it.
bool Engine::take(Answer& answer, const Progress& progress, TopTokens& top) {
    Outcome& outcome = answer.outcome;
    const DrawnToken& drawn = progress.drawn;
    if (progress.scored && drawn.token >= 0) {
        outcome.prompt_log_probability.push_back(drawn.log_probability);
        if (!top.token.empty()) outcome.prompt_top.push_back(std::move(top));
        return false;
    }
    answer.last = Clock::now();
    if (outcome.token_seconds.empty()) {
        answer.first = answer.last;
        outcome.cached_tokens = progress.shared_tokens;
        counters_.tokens_in += outcome.prompt_tokens;
    }
    outcome.token_seconds.push_back(seconds_between(answer.submitted, answer.last));
    count_guesses(outcome, progress);
    const auto ends = [&](Finish finish) {
        outcome.finish = finish;
        return true;
    };
    if (drawn.token < 0) return ends(Finish::Failed);
    if (!answer.ignore_end && std::ranges::find(settings_.end_ids, drawn.token) != settings_.end_ids.end())
        return ends(Finish::End);
    if (std::ranges::find(answer.stop_tokens, drawn.token) != answer.stop_tokens.end())
        return ends(Finish::Stopped);
    ++counters_.tokens_out;
    outcome.tokens.push_back(drawn.token);
    outcome.log_probability.push_back(drawn.log_probability);
    if (!top.token.empty()) outcome.top.push_back(std::move(top));
    const bool stopped = !answer.text.push(drawn.token);
    if (stopped) return ends(Finish::Stopped);
    if (progress.finished) return ends(Finish::End);
    if (progress.last) return ends(answer.to_context ? Finish::Context : Finish::Length);
    return !tell(answer) && ends(answer.outcome.thrown ? Finish::Failed : Finish::Stopped);
}

void Engine::count_guesses(Outcome& outcome, const Progress& progress) {
    outcome.steps += progress.guessed ? 0 : 1;
    outcome.drafted_tokens += progress.drafted;
    outcome.right_tokens += progress.guessed ? 1 : 0;
    counters_.steps += progress.guessed ? 0 : 1;
    counters_.drafted_tokens += progress.drafted;
    counters_.right_tokens += progress.guessed ? 1 : 0;
}

// Calls back with what has become certain. Returns false if the callback does, or throws.
bool Engine::tell(Answer& answer) {
    if (!answer.on_delta) return true;
    Outcome& outcome = answer.outcome;
    const WrittenText::News news = answer.text.news();
    const std::size_t from = std::exchange(answer.told, answer.told + news.tokens);
    Delta delta;
    delta.text = news.text;
    delta.tokens = std::span(outcome.tokens).subspan(from, news.tokens);
    delta.log_probability = std::span(outcome.log_probability).subspan(from, news.tokens);
    if (!outcome.top.empty()) delta.top = std::span(outcome.top).subspan(from, news.tokens);
    try {
        return answer.on_delta(delta);
    } catch (...) {
        fail(outcome, std::current_exception());
        answer.on_delta = nullptr;
        return false;
    }
}

// Passes on the last delta and the outcome, which says already why the request ends.
void Engine::end(std::int64_t id, std::vector<Outcome>& ended) {
    Answer answer = std::move(answers_.extract(id).mapped());
    Outcome& outcome = answer.outcome;
    answer.text.finish();
    if (outcome.finish != Finish::Cancelled && answer.text.has_news()) tell(answer);
    outcome.text = answer.text.take();
    outcome.queue_seconds = seconds_if_both(answer.submitted, answer.admitted);
    outcome.prompt_seconds = seconds_if_both(answer.admitted, answer.first);
    outcome.generation_seconds = seconds_if_both(answer.first, answer.last);
    ++counters_.requests;
    counters_.failed += outcome.finish == Finish::Failed ? 1 : 0;
    counters_.cancelled += outcome.finish == Finish::Cancelled ? 1 : 0;
    inbox_.forget(id);
    if (!answer.on_end) {
        ended.push_back(std::move(outcome));
        return;
    }
    try {
        answer.on_end(std::move(outcome));
    } catch (...) {
        // The request has ended anyway.
    }
}

void Engine::publish() {
    EngineCounters now = counters_;
    now.scheduler = scheduler_.counters();
    const std::lock_guard lock(published_mutex_);
    published_ = now;
}

EngineCounters Engine::counters() const {
    EngineCounters now;
    {
        const std::lock_guard lock(published_mutex_);
        now = published_;
    }
    now.scheduler.waiting += inbox_.arrivals();
    return now;
}

}  // namespace voltpile::llm
