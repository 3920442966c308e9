// What the Api writes to the log: a line for each request that is refused or has its answers.
#include <memory>

#include "base/seconds_since.h"
#include "llm/serve/api.h"
#include "llm/serve/api_error.h"
#include "llm/serve/messages_api.h"

namespace voltpile::llm {
namespace {

// The error in the form of the API that the path belongs to.
http::Response response_to(const ApiError& error, std::string_view path) {
    return path == "/v1/messages" ? messages_error(error) : error.response();
}

// Why the answers ended, each reason once.
std::string reasons_of(std::span<const Outcome> outcomes) {
    std::string reasons;
    for (const Outcome& outcome : outcomes) {
        std::string_view reason = finish_reason(outcome.finish);
        if (outcome.finish == Finish::Cancelled) reason = "cancelled";
        if (outcome.finish == Finish::Failed) reason = "error";
        if (reasons.find(reason) == std::string::npos)
            reasons += (reasons.empty() ? "" : ",") + std::string(reason);
    }
    return reasons;
}

}  // namespace

RequestRecord Api::record_of(const http::Request& request) const {
    RequestRecord record;
    record.id = request.id;
    record.peer = request.peer;
    record.path = request.path;
    if (const auto key = key_of(request)) record.key = settings_.keys.name(*key);
    if (log_.prompts()) record.prompt = request.body;
    return record;
}

http::Response Api::refuse(const http::Request& request, const ApiError& error) const {
    if (log_.wanted()) {
        RequestRecord record = record_of(request);
        record.status = error.status();
        record.error = error.what();
        log_.write(record);
    }
    return response_to(error, request.path);
}

http::Response Api::refusal(const http::Refused& refused) const {
    if (log_.wanted()) {
        RequestRecord record;
        record.id = refused.id;
        record.peer = refused.peer;
        record.path = refused.path;
        record.status = refused.status;
        record.error = refused.message;
        log_.write(record);
    }
    return response_to(ApiError(refused.status, std::string(refused.message)), refused.path);
}

void Api::write_log(RequestRecord& record, std::chrono::steady_clock::time_point begin,
                    const Answer::End& end) const {
    const Outcome& first = end.outcomes.front();
    record.status = end.left ? client_left : end.status;
    record.error = end.left ? "" : end.error;
    record.answers = static_cast<int>(end.outcomes.size());
    record.tokens_in = end.usage.prompt_tokens;
    record.cached_tokens = end.usage.cached_tokens;
    record.tokens_out = end.usage.tokens;
    record.queue_s = first.queue_seconds;
    record.first_token_s = first.token_seconds.empty() ? 0 : first.token_seconds.front();
    record.seconds = seconds_since(begin);
    record.finish = reasons_of(end.outcomes);
    log_.write(record);
}

}  // namespace voltpile::llm
