#include <fmt/format.h>

#include "llm/serve/event_text.h"
#include "llm/serve/responses_api.h"

namespace voltpile::llm {
namespace {

// Answers consist of items: a message if there is text, and the calls of tools.
class ResponsesFormat final : public AnswerFormat {
  public:
    ResponsesFormat(AnswerHead head, std::string settings)
        : head_(std::move(head)), settings_(std::move(settings)), reader_(head_.calls.format) {}

    std::string begin_event(int) override {
        const std::string begun = response("in_progress", "", "null");
        const std::string created = event("response.created", "\"response\":" + begun);
        return created + event("response.in_progress", "\"response\":" + begun);
    }

    std::string delta_event(int, const Delta& delta) override {
        return piece_events(reader_.read(delta.text));
    }

    std::string finish_event(int, const Outcome& outcome) override {
        last_ = outcome;
        std::string events = piece_events(reader_.finish());
        if (items_ == 0) events += begin_item(false, "");  // an empty answer
        return events + end_item(status(outcome));
    }

    std::string end_events(const AnswerUsage& usage) override {
        return event(std::string("response.") + status(last_), "\"response\":" + finished(last_, usage));
    }

    std::string error_event(const ApiError& error) override {
        return event("error", fmt::format("\"code\":\"server_error\",\"message\":{},\"param\":null",
                                          json_text(error.what())));
    }

    std::string whole(std::span<const Outcome> outcomes, const AnswerUsage& usage) override {
        return finished(outcomes.front(), usage);
    }

  private:
    static const char* status(const Outcome& outcome) {
        return finish_reason(outcome.finish) == "length" ? "incomplete" : "completed";
    }

    static std::string part(std::string_view text) {
        return fmt::format(R"({{"type":"output_text","text":{},"annotations":[],"logprobs":[]}})",
                           json_text(text));
    }

    std::string message_item(std::string_view status, std::string_view content) const {
        return fmt::format(R"({{"id":{},"type":"message","status":"{}","role":"assistant","content":[{}]}})",
                           json_text("msg_" + head_.id), status, content);
    }

    std::string call_item(std::string_view status, int call, std::string_view name,
                          std::string_view arguments) const {
        return fmt::format(
            R"({{"id":"{}","type":"function_call","status":"{}","call_id":"{}","name":{},"arguments":{}}})",
            head_.calls.id("fc_", 0, call), status, head_.calls.id("call_", 0, call), json_text(name),
            json_text(arguments));
    }

    // The open item's place, at the beginning of the members of an event.
    std::string place() const {
        return fmt::format(
            R"("item_id":{},"output_index":{})",
            in_call_ ? json_text(head_.calls.id("fc_", 0, calls_ - 1)) : json_text("msg_" + head_.id),
            items_ - 1);
    }

    std::string piece_events(const std::vector<ToolCallPiece>& pieces) {
        std::string events;
        for (const ToolCallPiece& piece : pieces) {
            const bool text = piece.kind == ToolCallPiece::Kind::Text;
            if (piece.kind == ToolCallPiece::Kind::Name) {
                events += end_item("completed");
                events += begin_item(true, piece.text);
                continue;
            }
            if (text && (!open_ || in_call_)) {
                events += end_item("completed");
                events += begin_item(false, "");
            }
            written_ += piece.text;
            events += text ? event("response.output_text.delta",
                                   fmt::format("{},\"content_index\":0,\"delta\":{},\"logprobs\":[]", place(),
                                               json_text(piece.text)))
                           : event("response.function_call_arguments.delta",
                                   fmt::format("{},\"delta\":{}", place(), json_text(piece.text)));
        }
        return events;
    }

    std::string begin_item(bool call, const std::string& name) {
        open_ = true;
        in_call_ = call;
        name_ = name;
        written_.clear();
        calls_ += call ? 1 : 0;
        const std::string item =
            call ? call_item("in_progress", calls_ - 1, name, "") : message_item("in_progress", "");
        std::string events = event("response.output_item.added",
                                   fmt::format("\"output_index\":{},\"item\":{}", items_++, item));
        if (!call)
            events += event("response.content_part.added",
                            fmt::format("{},\"content_index\":0,\"part\":{}", place(), part("")));
        return events;
    }

    std::string end_item(std::string_view status) {
        if (!std::exchange(open_, false)) return {};
        std::string events, item;
        if (in_call_) {
            events = event("response.function_call_arguments.done",
                           fmt::format("{},\"name\":{},\"arguments\":{}", place(), json_text(name_),
                                       json_text(written_)));
            item = call_item(status, calls_ - 1, name_, written_);
        } else {
            events = event("response.output_text.done",
                           fmt::format("{},\"content_index\":0,\"text\":{},\"logprobs\":[]", place(),
                                       json_text(written_)));
            events += event("response.content_part.done",
                            fmt::format("{},\"content_index\":0,\"part\":{}", place(), part(written_)));
            item = message_item(status, part(written_));
        }
        return events + event("response.output_item.done",
                              fmt::format("\"output_index\":{},\"item\":{}", items_ - 1, item));
    }

    std::string response(std::string_view status, std::string_view output, std::string_view usage) const {
        return fmt::format(
            "{{\"id\":{},\"object\":\"response\",\"created_at\":{},\"status\":\"{}\",\"error\":null,"
            "\"incomplete_details\":{},\"model\":{},\"output\":[{}],\"usage\":{},{}}}",
            json_text(head_.id), head_.created, status,
            status == "incomplete" ? "{\"reason\":\"max_output_tokens\"}" : "null", json_text(head_.model),
            output, usage, settings_);
    }

    std::string finished(const Outcome& outcome, const AnswerUsage& usage) const {
        const std::string counts = fmt::format(
            "{{\"input_tokens\":{},\"input_tokens_details\":{{\"cached_tokens\":{}}},\"output_tokens\":{},"
            "\"output_tokens_details\":{{\"reasoning_tokens\":0}},\"total_tokens\":{}}}",
            usage.prompt_tokens, usage.cached_tokens, usage.tokens, usage.prompt_tokens + usage.tokens);
        const ReadAnswer answer = read_answer(head_.calls.format, outcome.text);
        std::string items;
        if (!answer.text.empty() || answer.calls.empty())
            items = message_item(status(outcome), part(answer.text));
        for (int i = 0; i < std::ssize(answer.calls); ++i) {
            const ToolCall& call = answer.calls[static_cast<std::size_t>(i)];
            const bool last = i + 1 == std::ssize(answer.calls);
            items += (items.empty() ? "" : ",") +
                     call_item(last ? status(outcome) : "completed", i, call.name, call.arguments);
        }
        return response(status(outcome), items, counts);
    }

    // Events are numbered, and have their type in front of the data as well.
    std::string event(std::string_view type, std::string_view members) {
        return fmt::format("event: {0}\ndata: {{\"type\":\"{0}\",\"sequence_number\":{1},{2}}}\n\n", type,
                           number_++, members);
    }

    AnswerHead head_;
    std::string settings_;
    ToolCallReader reader_;
    Outcome last_;  // what finish_event() had
    int number_ = 0;
    bool open_ = false, in_call_ = false;  // an item; and it is a call
    int items_ = 0, calls_ = 0;            // begun
    std::string name_, written_;           // of the open item: its tool, and its text or arguments
};

}  // namespace

std::unique_ptr<AnswerFormat> responses_format(AnswerHead head, std::string settings) {
    return std::make_unique<ResponsesFormat>(std::move(head), std::move(settings));
}

}  // namespace voltpile::llm
