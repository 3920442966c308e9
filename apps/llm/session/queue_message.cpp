#include "llm/session/queue_message.h"

#include "llm/replica/pass_message.h"

namespace voltpile::llm {
namespace {

// All but compiled_grammar and adapter, which the engine of the replica sets.
void write(MessageWriter& to, const Request& request) {
    write(to, static_cast<const RequestSettings&>(request));
    to.value(request.id);
    to.list(request.prompt);
    to.value(request.owner);
    to.value(request.weight);
    to.value(request.continues);
    to.value(request.first_draw);
    to.list(request.stop_tokens);
    to.value(request.score_prompt);
}

Request read_request(MessageReader& from) {
    Request request(read_request_settings(from));
    request.id = from.value<std::int64_t>();
    request.prompt = from.list<std::int32_t>();
    request.owner = from.value<int>();
    request.weight = from.value<double>();
    request.continues = from.value<bool>();
    request.first_draw = from.value<std::int32_t>();
    request.stop_tokens = from.list<std::int32_t>();
    request.score_prompt = from.value<bool>();
    return request;
}

void write(MessageWriter& to, const std::vector<TopTokens>& top) {
    to.value(top.size());
    for (const TopTokens& each : top) {
        to.list(each.token);
        to.list(each.log_probability);
    }
}

std::vector<TopTokens> read_top(MessageReader& from) {
    std::vector<TopTokens> top(from.count(2 * sizeof(std::size_t)));
    for (TopTokens& each : top) {
        each.token = from.list<std::int32_t>();
        each.log_probability = from.list<float>();
    }
    return top;
}

void write(MessageWriter& to, const Outcome& outcome) {
    to.value(outcome.finish);
    to.text(outcome.error);
    to.text(outcome.text);
    to.list(outcome.tokens);
    to.list(outcome.log_probability);
    write(to, outcome.top);
    to.list(outcome.prompt_log_probability);
    write(to, outcome.prompt_top);
    to.value(outcome.prompt_tokens);
    to.value(outcome.cached_tokens);
    to.value(outcome.steps);
    to.value(outcome.drafted_tokens);
    to.value(outcome.right_tokens);
    to.value(outcome.queue_seconds);
    to.value(outcome.prompt_seconds);
    to.value(outcome.generation_seconds);
    to.list(outcome.token_seconds);
}

Outcome read_outcome(MessageReader& from) {
    Outcome outcome;
    outcome.finish = from.value<Finish>();
    outcome.error = from.text();
    outcome.text = from.text();
    outcome.tokens = from.list<std::int32_t>();
    outcome.log_probability = from.list<float>();
    outcome.top = read_top(from);
    outcome.prompt_log_probability = from.list<float>();
    outcome.prompt_top = read_top(from);
    outcome.prompt_tokens = from.value<int>();
    outcome.cached_tokens = from.value<int>();
    outcome.steps = from.value<int>();
    outcome.drafted_tokens = from.value<int>();
    outcome.right_tokens = from.value<int>();
    outcome.queue_seconds = from.value<double>();
    outcome.prompt_seconds = from.value<double>();
    outcome.generation_seconds = from.value<double>();
    outcome.token_seconds = from.list<double>();
    return outcome;
}

void write(MessageWriter& to, const QueueEvent& event) {
    to.value(event.id);
    to.text(event.text);
    to.list(event.tokens);
    to.list(event.log_probability);
    write(to, event.top);
    to.value(event.outcome.has_value());
    if (event.outcome) write(to, *event.outcome);
}

QueueEvent read_event(MessageReader& from) {
    QueueEvent event;
    event.id = from.value<std::int64_t>();
    event.text = from.text();
    event.tokens = from.list<std::int32_t>();
    event.log_probability = from.list<float>();
    event.top = read_top(from);
    if (from.value<bool>()) {
        event.outcome = read_outcome(from);
        event.outcome->id = event.id;
    }
    return event;
}

}  // namespace

std::string to_bytes(const QueueOrder& order) {
    MessageWriter to;
    to.value(order.kind);
    write(to, order.request);
    return to.take();
}

std::string to_bytes(const QueueReport& report) {
    MessageWriter to;
    to.value(report.counters);
    to.value(report.last);
    to.value(report.failing);
    to.value(report.events.size());
    for (const QueueEvent& event : report.events) write(to, event);
    to.value(report.failure.has_value());
    if (report.failure) {
        to.value(report.failure->exit_code);
        to.text(report.failure->why);
    }
    return to.take();
}

QueueOrder order_from_bytes(const std::string& bytes) {
    MessageReader from(bytes, "a message with a request");
    QueueOrder order;
    order.kind = from.value<QueueOrder::Kind>();
    order.request = read_request(from);
    from.end();
    return order;
}

QueueReport report_from_bytes(const std::string& bytes) {
    MessageReader from(bytes, "a message with answers");
    QueueReport report;
    report.counters = from.value<EngineCounters>();
    report.last = from.value<bool>();
    report.failing = from.value<bool>();
    report.events.resize(from.count(sizeof(std::int64_t)));
    for (QueueEvent& event : report.events) event = read_event(from);
    if (from.value<bool>()) {
        report.failure.emplace().exit_code = from.value<ExitCode>();
        report.failure->why = from.text();
    }
    from.end();
    return report;
}

}  // namespace voltpile::llm
