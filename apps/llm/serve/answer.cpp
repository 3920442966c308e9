#include "llm/serve/answer.h"

#include <utility>

#include "llm/serve/generation_fields.h"

namespace voltpile::llm {
namespace {

// Returns what went wrong, for the client.
ApiError error_of(const Outcome& outcome) {
    if (outcome.finish == Finish::Cancelled)
        return ApiError(503, "the server is stopping and had no time to finish this answer", {}, "stopping");
    return ApiError(500, outcome.error.empty() ? "the server failed to answer this request" : outcome.error);
}

}  // namespace

Answer::Answer(Plan plan, http::Reply reply, RequestQueue& queue)
    : queue_(queue),
      plan_(std::move(plan)),
      reply_(std::move(reply)),
      outcomes_(plan_.requests.size()),
      begun_(plan_.requests.size()),
      left_(plan_.requests.size()) {
    for (const Request& request : plan_.requests) ids_.push_back(request.id);
}

void Answer::start(Plan plan, http::Reply reply, RequestQueue& queue) {
    const std::shared_ptr<Answer> answer(new Answer(std::move(plan), std::move(reply), queue));
    answer->submit();
}

void Answer::submit() {
    const std::lock_guard lock(mutex_);  // no callback comes in between
    reply_.on_gone([self = shared_from_this()] { self->cancel_all(); });
    std::size_t i = 0;
    const auto refuse = [&](const ApiError& error) {
        cancel_all();
        fail(error);
        const std::size_t refused = ids_.size() - i;
        for (; i < ids_.size(); ++i) plan_.on_ended(ids_[i], nullptr);
        count_ended(refused);
    };
    try {
        for (; i < ids_.size(); ++i) {
            const int number = static_cast<int>(i);
            OnDelta on_delta;
            if (plan_.stream)
                on_delta = [self = shared_from_this(), number](const Delta& delta) {
                    self->delta(number, delta);
                    return true;  // a client that is gone cancels
                };
            queue_.submit(std::move(plan_.requests[i]), std::move(on_delta),
                          [self = shared_from_this(), number](Outcome outcome) {
                              self->ended(number, std::move(outcome));
                          });
        }
    } catch (const GrammarError& error) {
        refuse(form_error(plan_.form_field, error));
    } catch (const JobError& error) {
        refuse(ApiError(400, error.what()));
    } catch (const Error& error) {  // the queue is closed
        refuse(ApiError(503, "the server is stopping: " + std::string(error.what()), {}, "stopping"));
    }
    if (reply_.gone()) cancel_all();  // before there was anything to cancel
}

void Answer::cancel_all() const {
    for (const std::int64_t id : ids_) queue_.cancel(id);
}

void Answer::begin_stream() {
    if (std::exchange(streaming_, true)) return;
    http::Response head;
    head.content_type = "text/event-stream";
    head.headers = {{"Cache-Control", "no-cache"}};
    reply_.begin(std::move(head));
}

void Answer::delta(int number, const Delta& delta) {
    const std::lock_guard lock(mutex_);
    if (done_) return;
    begin_stream();
    std::string events;
    const auto at = static_cast<std::size_t>(number);
    if (!begun_[at]) events = plan_.format->begin_event(number);
    begun_[at] = true;
    events += plan_.format->delta_event(number, delta);
    if (!events.empty()) reply_.write(events);
}

void Answer::ended(int number, Outcome outcome) {
    const std::lock_guard lock(mutex_);
    plan_.on_ended(outcome.id, &outcome);
    outcomes_[static_cast<std::size_t>(number)] = std::move(outcome);
    const bool last = left_ == 1;
    if (!done_) settle(number, last);
    count_ended(1);
}

// Passes on what the client gets of a request that has ended. last: all others have.
void Answer::settle(int number, bool last) {
    const auto at = static_cast<std::size_t>(number);
    const Outcome& outcome = outcomes_[at];
    if (outcome.finish == Finish::Failed || outcome.finish == Finish::Cancelled) {
        cancel_all();
        return fail(error_of(outcome));
    }
    if (plan_.stream) {
        begin_stream();
        const std::string begin = begun_[at] ? "" : plan_.format->begin_event(number);
        begun_[at] = true;
        reply_.write(begin + plan_.format->finish_event(number, outcome));
    }
    if (last) finish();
}

void Answer::count_ended(std::size_t requests) {
    left_ -= requests;
    if (left_ > 0 || !plan_.on_all_ended) return;
    end_.left = reply_.gone();
    end_.outcomes = outcomes_;
    end_.usage = usage();
    plan_.on_all_ended(end_);
}

void Answer::fail(const ApiError& error) {
    done_ = true;
    end_.status = error.status();
    end_.error = error.what();
    if (!streaming_) return reply_.send(plan_.format->error_response(error));
    reply_.write(plan_.format->error_event(error));
    reply_.end();
}

void Answer::finish() {
    done_ = true;
    if (plan_.stream) {
        reply_.write(plan_.format->end_events(usage()));
        return reply_.end();
    }
    http::Response response;
    response.body = plan_.format->whole(outcomes_, usage());
    reply_.send(std::move(response));
}

AnswerUsage Answer::usage() const {
    AnswerUsage usage;
    const std::size_t each = outcomes_.size() / static_cast<std::size_t>(plan_.prompts);
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
        usage.tokens += std::ssize(outcomes_[i].tokens);
        if (i % each != 0) continue;  // a prompt counts once, however many answers it has
        usage.prompt_tokens += outcomes_[i].prompt_tokens;
        usage.cached_tokens += outcomes_[i].cached_tokens;
    }
    return usage;
}

}  // namespace voltpile::llm
