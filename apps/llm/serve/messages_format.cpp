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

// A block of the content that is being streamed.
enum class OpenBlock { None, Thought, Text, Call };

class MessagesFormat final : public AnswerFormat {
  public:
    MessagesFormat(AnswerHead head, std::int64_t prompt_tokens, std::vector<std::string> stop)
        : head_(std::move(head)),
          prompt_tokens_(prompt_tokens),
          stop_(std::move(stop)),
          reader_(head_.calls.reader()) {}

    std::string begin_event(int) override {
        return named_event(
            "message_start",
            fmt::format(
                ",\"message\":{},\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":"
                "{{\"input_tokens\":{},\"output_tokens\":0}}}}",
                beginning(), prompt_tokens_));
    }

    std::string delta_event(int, const Delta& delta) override {
        return piece_events(reader_.read(delta.text));
    }

    std::string finish_event(int, const Outcome& outcome) override {
        std::string events = piece_events(reader_.finish());
        if (blocks_ == 0) events += begin_block(OpenBlock::Text, text_block(""));  // an empty answer
        events += end_block();
        return events + named_event("message_delta",
                                    fmt::format(R"(,"delta":{{{}}},"usage":{{"output_tokens":{}}})",
                                                reason(outcome, reader_.calls() > 0), outcome.tokens.size()));
    }

    std::string end_events(const AnswerUsage&) override { return named_event("message_stop", ""); }

    std::string error_event(const ApiError& error) override {
        return fmt::format("event: error\ndata: {}\n\n", messages_error_body(error));
    }

    http::Response error_response(const ApiError& error) const override { return messages_error(error); }

    std::string whole(std::span<const Outcome> outcomes, const AnswerUsage& usage) override {
        const Outcome& one = outcomes.front();
        const ReadAnswer answer = head_.calls.read(one.text);
        std::string blocks;
        if (!answer.thought.empty()) blocks = thought_block(answer.thought);
        if (!answer.text.empty() || (answer.calls.empty() && blocks.empty()))
            blocks += (blocks.empty() ? "" : ",") + text_block(answer.text);
        for (int i = 0; i < std::ssize(answer.calls); ++i) {
            const ToolCall& call = answer.calls[static_cast<std::size_t>(i)];
            // An answer that was cut off may end within the JSON.
            const bool whole = nlohmann::json::accept(call.arguments);
            blocks += (blocks.empty() ? "" : ",") + call_block(i, call.name, whole ? call.arguments : "{}");
        }
        return fmt::format(
            "{},\"content\":[{}],{},\"usage\":{{\"input_tokens\":{},"
            "\"cache_read_input_tokens\":{},\"output_tokens\":{}}}}}",
            beginning(), blocks, reason(one, !answer.calls.empty()),
            usage.prompt_tokens - usage.cached_tokens, usage.cached_tokens, usage.tokens);
    }

  private:
    static std::string text_block(std::string_view text) {
        return fmt::format(R"({{"type":"text","text":{}}})", json_text(text));
    }

    static std::string thought_block(std::string_view thought) {
        return fmt::format(R"({{"type":"thinking","thinking":{},"signature":""}})", json_text(thought));
    }

    std::string call_block(int call, std::string_view name, std::string_view input) const {
        return fmt::format(R"({{"type":"tool_use","id":"{}","name":{},"input":{}}})",
                           head_.calls.id("toolu_", 0, call), json_text(name), input);
    }

    std::string piece_events(const std::vector<ToolCallPiece>& pieces) {
        std::string events;
        const auto open = [&](OpenBlock block, const std::string& content) {
            if (open_ == block) return;
            events += end_block();
            events += begin_block(block, content);
        };
        for (const ToolCallPiece& piece : pieces) switch (piece.kind) {
                case ToolCallPiece::Kind::Thought:
                    open(OpenBlock::Thought, thought_block(""));
                    events += block_delta(
                        fmt::format(R"({{"type":"thinking_delta","thinking":{}}})", json_text(piece.text)));
                    break;
                case ToolCallPiece::Kind::Text:
                    open(OpenBlock::Text, text_block(""));
                    events += block_delta(
                        fmt::format(R"({{"type":"text_delta","text":{}}})", json_text(piece.text)));
                    break;
                case ToolCallPiece::Kind::Name:
                    events += end_block();
                    events += begin_block(OpenBlock::Call, call_block(calls_++, piece.text, "{}"));
                    break;
                case ToolCallPiece::Kind::Arguments:
                    events += block_delta(fmt::format(R"({{"type":"input_json_delta","partial_json":{}}})",
                                                      json_text(piece.text)));
            }
        return events;
    }

    std::string begin_block(OpenBlock block, std::string_view content) {
        open_ = block;
        return named_event("content_block_start",
                           fmt::format(R"(,"index":{},"content_block":{})", blocks_++, content));
    }

    std::string block_delta(std::string_view delta) const {
        return named_event("content_block_delta",
                           fmt::format(R"(,"index":{},"delta":{})", blocks_ - 1, delta));
    }

    std::string end_block() {
        if (std::exchange(open_, OpenBlock::None) == OpenBlock::None) return {};
        return named_event("content_block_stop", fmt::format(",\"index\":{}", blocks_ - 1));
    }

    std::string beginning() const {
        return fmt::format(R"({{"id":{},"type":"message","role":"assistant","model":{})", json_text(head_.id),
                           json_text(head_.model));
    }

    std::string reason(const Outcome& outcome, bool calls) const {
        if (outcome.finish == Finish::Stopped && !stop_.empty())
            return fmt::format(R"("stop_reason":"stop_sequence","stop_sequence":{})",
                               stop_.size() == 1 ? json_text(stop_.front()) : "null");
        const bool cut_off = finish_reason(outcome.finish) == "length";
        return fmt::format(R"("stop_reason":"{}","stop_sequence":null)", cut_off ? "max_tokens"
                                                                         : calls ? "tool_use"
                                                                                 : "end_turn");
    }

    AnswerHead head_;
    std::int64_t prompt_tokens_;
    std::vector<std::string> stop_;
    ToolCallReader reader_;
    OpenBlock open_ = OpenBlock::None;
    int blocks_ = 0, calls_ = 0;  // begun
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
