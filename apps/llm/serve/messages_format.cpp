#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "llm/serve/event_text.h"
#include "llm/serve/messages_api.h"

namespace voltpile::llm {
namespace {

std::string_view error_word(int status) {
    switch (status) {
        case 401:
            return "authentication_error";
        case 404:
            return "not_found_error";
        case 413:
            return "request_too_large";
        case 429:
            return "rate_limit_error";
        case 503:
            return "overloaded_error";
        default:
            return status < 500 ? "invalid_request_error" : "api_error";
    }
}

std::string messages_error_body(const ApiError& error) {
    return fmt::format(R"({{"type":"error","error":{{"type":"{}","message":{}}}}})",
                       error_word(error.status()), json_text(error.what()));
}

// An event of this API has its type in front of the data as well.
std::string named_event(std::string_view type, std::string_view rest) {
    return fmt::format("event: {0}\ndata: {{\"type\":\"{0}\"{1}}}\n\n", type, rest);
}

class MessagesFormat final : public AnswerFormat {
  public:
    MessagesFormat(AnswerHead head, std::int64_t prompt_tokens, std::vector<std::string> stop)
        : head_(std::move(head)), prompt_tokens_(prompt_tokens), stop_(std::move(stop)) {}

    std::string begin_event(int) override {
        return named_event(
                   "message_start",
                   fmt::format(
                       ",\"message\":{},\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":"
                       "{{\"input_tokens\":{},\"output_tokens\":0}}}}",
                       beginning(), prompt_tokens_)) +
               named_event("content_block_start", R"(,"index":0,"content_block":{"type":"text","text":""})");
    }

    std::string delta_event(int, const Delta& delta) override {
        if (delta.text.empty()) return {};
        return named_event(
            "content_block_delta",
            fmt::format(R"(,"index":0,"delta":{{"type":"text_delta","text":{}}})", json_text(delta.text)));
    }

    std::string finish_event(int, const Outcome& outcome) override {
        return named_event("content_block_stop", ",\"index\":0") +
               named_event("message_delta", fmt::format(R"(,"delta":{{{}}},"usage":{{"output_tokens":{}}})",
                                                        reason(outcome), outcome.tokens.size()));
    }

    std::string end_events(const AnswerUsage&) override { return named_event("message_stop", ""); }

    std::string error_event(const ApiError& error) override {
        return fmt::format("event: error\ndata: {}\n\n", messages_error_body(error));
    }

    http::Response error_response(const ApiError& error) const override { return messages_error(error); }

    std::string whole(std::span<const Outcome> outcomes, const AnswerUsage& usage) override {
        const Outcome& one = outcomes.front();
        return fmt::format(
            "{},\"content\":[{{\"type\":\"text\",\"text\":{}}}],{},\"usage\":{{\"input_tokens\":{},"
            "\"cache_read_input_tokens\":{},\"output_tokens\":{}}}}}",
            beginning(), json_text(one.text), reason(one), usage.prompt_tokens - usage.cached_tokens,
            usage.cached_tokens, usage.tokens);
    }

  private:
    std::string beginning() const {
        return fmt::format(R"({{"id":{},"type":"message","role":"assistant","model":{})", json_text(head_.id),
                           json_text(head_.model));
    }

    std::string reason(const Outcome& outcome) const {
        if (outcome.finish == Finish::Stopped && !stop_.empty())
            return fmt::format(R"("stop_reason":"stop_sequence","stop_sequence":{})",
                               stop_.size() == 1 ? json_text(stop_.front()) : "null");
        return fmt::format(R"("stop_reason":"{}","stop_sequence":null)",
                           finish_reason(outcome.finish) == "length" ? "max_tokens" : "end_turn");
    }

    AnswerHead head_;
    std::int64_t prompt_tokens_;
    std::vector<std::string> stop_;
};

}  // namespace

std::unique_ptr<AnswerFormat> messages_format(AnswerHead head, std::int64_t prompt_tokens,
                                              std::vector<std::string> stop) {
    return std::make_unique<MessagesFormat>(std::move(head), prompt_tokens, std::move(stop));
}

http::Response messages_error(const ApiError& error) {
    return error.response(messages_error_body(error));
}

}  // namespace voltpile::llm
