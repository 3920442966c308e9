#include "llm/engine/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/error.h"
#include "llm/engine/sequence_cache.h"

namespace voltpile::llm {
namespace {

SequencePtr new_sequence(Request request, int context) {
    auto sequence = std::make_shared<Sequence>();
    sequence->id = request.id;
    sequence->owner = request.owner;
    sequence->weight = request.weight;
    sequence->top_n = request.top_n;
    sequence->adapter = request.adapter;
    sequence->beginning = PrefixCache::beginning_of(request.adapter);
    sequence->first_draw = request.first_draw;
    sequence->tokens = std::move(request.prompt);
    if (request.score_prompt) sequence->score_until = static_cast<int>(sequence->tokens.size());
    const int room = context - static_cast<int>(sequence->tokens.size());
    sequence->most_tokens = request.max_tokens == 0 ? room : request.max_tokens;
    if (has_penalty(request.sampling)) {
        sequence->history = std::make_shared<std::map<std::int32_t, std::int32_t>>();
        for (const std::int32_t token : sequence->tokens) ++(*sequence->history)[token];
    }
    if (request.compiled_grammar) sequence->grammar.emplace(request.compiled_grammar, request.continues);
    sequence->sampling = std::make_shared<const SamplingSettings>(std::move(request.sampling));
    return sequence;
}

}  // namespace

void check_prompt(std::size_t tokens, int context) {
    if (tokens == 0) throw JobError("the prompt is empty");
    if (tokens >= static_cast<std::size_t>(context))
        throw JobError(fmt::format("the prompt of {} tokens leaves no room for more in a context of {}",
                                   tokens, context));
}

void check_request(const Request& request, const SchedulerSettings& settings) {
    check_prompt(request.prompt.size(), settings.context);
    if (request.max_tokens < 0) throw JobError("max_tokens must be at least 0");
    const auto prompt = std::ssize(request.prompt);
    const std::int64_t all = request.max_tokens == 0 ? settings.context : prompt + request.max_tokens;
    if (all > settings.context)
        throw JobError(fmt::format("a prompt of {} tokens and {} more do not fit into a context of {}",
                                   prompt, request.max_tokens, settings.context));
    const std::int64_t room = static_cast<std::int64_t>(settings.pages) * kv_page_tokens;
    if (all > room)
        throw JobError(fmt::format("{} tokens of one sequence do not fit into a cache of {}", all, room));
}

Scheduler::Scheduler(const SchedulerSettings& settings)
    : settings_(settings),
      cache_(settings.pages, settings.host_pages),
      turns_(static_cast<std::size_t>(std::max(settings.lanes, 1)), 0) {
    const BatchLimits& limits = settings.limits;
    if (settings.lanes < 1 || (settings.feeds && settings.lanes > 1) || settings.sequences < 1 ||
        std::min({most_generating(limits), settings.mixed_rows, settings.mixed_context, settings.pass_rows}) <
            1 ||
        settings.draft_tokens < 0 || (settings.drafter != nullptr && !settings.draft_pace.known()) ||
        pages_for(settings.context) > limits.pages_per_sequence)
        throw std::invalid_argument("inconsistent settings of a scheduler");
}

void Scheduler::add(Request request) {
    check_request(request, settings_);
    SequencePtr sequence = new_sequence(std::move(request), settings_.context);
    if (!by_id_.emplace(sequence->id, sequence).second)
        throw std::invalid_argument(fmt::format("the request id {} is already in use", sequence->id));
    sequence->age = added_++;
    waiting_.add(std::move(sequence));
}

void Scheduler::admit() {
    while (!waiting_.empty() && admit_first()) {
    }
}

bool Scheduler::admit_first() {
    const SequencePtr sequence = waiting_.front();
    // With an even share of this many, no lane has more than fit into a pass.
    const int most = std::min(settings_.sequences, settings_.lanes * most_generating(settings_.limits));
    if (sequence->passes > 0 || std::ssize(running_) >= most) return false;
    if (sequence->score_until == 0) use_kept_pages(cache_, *sequence, next_pass());
    const int found = sequence->computed;
    const int missing = pages_for(sequence->length()) - static_cast<int>(sequence->pages.size());
    if (missing + std::ssize(running_) > cache_.available()) {
        give_back_pages(cache_, *sequence);
        return false;
    }
    make_room(cache_, *sequence, sequence->length());
    sequence->to_read = sequence->rows_left();
    count_shared(*sequence, found);
    const std::vector<int> generating = generating_by_lane();
    sequence->lane = static_cast<int>(std::ranges::min_element(generating) - generating.begin());
    waiting_.remove(*sequence);
    running_.emplace(sequence->age, sequence);
    if (!std::exchange(sequence->admitted, true)) {
        if (settings_.drafter != nullptr) {
            guesses_.skip();
            sequence->guesses = guesses_;
        }
        admitted_.push_back(sequence->id);
        waiting_.charge(*sequence, sequence->tokens.size());
    }
    return true;
}

void Scheduler::count_shared(Sequence& sequence, int tokens) {
    counters_.shared_tokens += tokens;
    if (sequence.drawn + sequence.drawing == 0) sequence.shared += tokens;
}

void Scheduler::preempt(SequencePtr sequence) {
    if (sequence->drawn + sequence->drawing == 0) sequence->shared = 0;
    give_back_pages(cache_, *sequence);
    sequence->lane = -1;
    running_.erase(sequence->age);
    waiting_.add(std::move(sequence));
    ++counters_.preemptions;
}

void Scheduler::remove(const SequencePtr& sequence) {
    sequence->ended = true;
    give_back_pages(cache_, *sequence);
    running_.erase(sequence->age);
    waiting_.remove(*sequence);
    if (settings_.drafter != nullptr) settings_.drafter->forget(sequence->id);
    by_id_.erase(sequence->id);
}

std::vector<Progress> Scheduler::complete(std::span<const DrawnToken> drawn) {
    if (under_way_.empty() || under_way_.front().drawing.size() != drawn.size())
        throw std::logic_error("complete(): the number of draws does not match the oldest pass");
    const PassUnderWay pass = std::move(under_way_.front());
    under_way_.pop_front();
    for (const SequencePtr& sequence : pass.sequences) --sequence->passes;
    std::vector<Progress> progress;
    for (std::size_t i = 0; i < drawn.size(); ++i) {
        const SequencePtr& sequence = pass.drawing[i];
        if (pass.scored[i] > 0) {
            // Computed again after a preemption, it may be known.
            if (sequence->ended || pass.scored[i] != sequence->scored) continue;
            ++sequence->scored;
            Progress& next = progress.emplace_back(sequence->id, i, drawn[i], drawn[i].token < 0);
            next.scored = true;
            if (next.last) remove(sequence);
            continue;
        }
        const int guessed = pass.guessed[i];
        if (guessed == 0) --sequence->drawing;
        if (guessed > 0 && !sequence->confirm(guessed)) continue;
        if (sequence->ended) continue;
        Progress& next =
            progress.emplace_back(sequence->id, i, drawn[i], drawn[i].token < 0, sequence->shared);
        next.guessed = guessed > 0;
        next.drafted = guessed > 0 ? 0 : static_cast<int>(std::ssize(sequence->draft));
        if (next.last) {
            next.no_token_allowed = sequence->grammar && sequence->grammar->stuck();
        } else if (sequence->grammar && !sequence->grammar->accept(drawn[i].token)) {
            next.drawn.token = -1;  // beyond a limit of the grammar that masks do not know: nesting, readings
            next.last = next.no_token_allowed = true;
        } else {
            sequence->tokens.push_back(drawn[i].token);
            waiting_.charge(*sequence, 1);
            if (sequence->history) ++(*sequence->history)[drawn[i].token];
            next.last = ++sequence->drawn >= sequence->most_tokens;
            if (sequence->grammar) {
                next.finished = sequence->grammar->finished();
                next.last = next.last || next.finished;
            }
            if (sequence->lane >= 0) keep_full_pages(cache_, *sequence, passes_);
        }
        if (next.last) remove(sequence);
    }
    for (const SequencePtr& sequence : pass.sequences) {
        if (sequence->draft.empty()) continue;
        const auto drafted = static_cast<int>(std::ssize(sequence->draft));
        const int right = std::exchange(sequence->right, 0);
        sequence->guesses.learn(drafted, right);
        guesses_.learn(drafted, right);
        sequence->draft.clear();
    }
    return progress;
}

void Scheduler::end(std::int64_t id) {
    const auto found = by_id_.find(id);
    if (found != by_id_.end()) remove(SequencePtr(found->second));
}

SchedulerCounters Scheduler::counters() const {
    SchedulerCounters now = counters_;
    now.running = static_cast<int>(running_.size());
    now.waiting = static_cast<int>(waiting_.size());
    now.generating = static_cast<int>(
        std::ranges::count_if(running_, [](const auto& each) { return each.second->generates(); }));
    now.pages = cache_.pages();
    now.host_pages = cache_.slots();
    now.host_pages_in_use = cache_.slots_in_use();
    now.pages_brought_back = cache_.brought_back();
    now.pages_in_use = cache_.pages() - cache_.available();
    return now;
}

}  // namespace voltpile::llm
