#include <fmt/format.h>

#include "llm/serve/event_text.h"
#include "llm/serve/responses_api.h"

namespace voltpile::llm {
namespace {

// Answers consist of items: the thoughts, a message if there is text, and the calls of tools.
enum class OpenItem { None, Thought, Message, Call };

class ResponsesFormat final : public AnswerFormat {
  public:
    ResponsesFormat(AnswerHead head, std::string settings)
        : head_(std::move(head)), settings_(std::move(settings)), reader_(head_.calls.reader()) {}

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
        if (items_ == 0) events += begin_item(OpenItem::Message, "");  // an empty answer
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

    static std::string thought_part(std::string_view text) {
        return fmt::format(R"({{"type":"reasoning_text","text":{}}})", json_text(text));
    }

    std::string thought_item(std::string_view status, std::string_view content) const {
        return fmt::format(R"({{"id":{},"type":"reasoning","status":"{}","summary":[],"content":[{}]}})",
                           json_text("rs_" + head_.id), status, content);
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
        const std::string id = open_ == OpenItem::Call      ? head_.calls.id("fc_", 0, calls_ - 1)
                               : open_ == OpenItem::Thought ? "rs_" + head_.id
                                                            : "msg_" + head_.id;
        return fmt::format(R"("item_id":{},"output_index":{})", json_text(id), items_ - 1);
    }

    std::string piece_events(const std::vector<ToolCallPiece>& pieces) {
        std::string events;
        for (const ToolCallPiece& piece : pieces) {
            const auto add = [&](std::string_view what, std::string_view more) {
                written_ += piece.text;
                events += event(fmt::format("response.{}.delta", what),
                                fmt::format("{},\"delta\":{}{}", place(), json_text(piece.text), more));
            };
            switch (piece.kind) {
                case ToolCallPiece::Kind::Thought:
                    events += change_item(OpenItem::Thought);
                    add("reasoning_text", ",\"content_index\":0");
                    break;
                case ToolCallPiece::Kind::Text:
                    events += change_item(OpenItem::Message);
                    add("output_text", ",\"content_index\":0,\"logprobs\":[]");
                    break;
                case ToolCallPiece::Kind::Name:
                    events += end_item("completed");
                    events += begin_item(OpenItem::Call, piece.text);
                    break;
                case ToolCallPiece::Kind::Arguments:
                    add("function_call_arguments", "");
            }
        }
        return events;
    }

    std::string change_item(OpenItem to) {
        if (open_ == to) return {};
        std::string events = end_item("completed");
        return events + begin_item(to, "");
    }

    // name: of a call's tool.
    std::string begin_item(OpenItem kind, const std::string& name) {
        open_ = kind;
        name_ = name;
        written_.clear();
        calls_ += kind == OpenItem::Call ? 1 : 0;
        const std::string item = kind == OpenItem::Call      ? call_item("in_progress", calls_ - 1, name, "")
                                 : kind == OpenItem::Thought ? thought_item("in_progress", "")
                                                             : message_item("in_progress", "");
        std::string events = event("response.output_item.added",
                                   fmt::format("\"output_index\":{},\"item\":{}", items_++, item));
        if (kind != OpenItem::Call) events += part_event("added", "");
        return events;
    }

    std::string end_item(std::string_view status) {
        std::string events, item;
        switch (open_) {
            case OpenItem::None:
                return {};
            case OpenItem::Call:
                events = event("response.function_call_arguments.done",
                               fmt::format("{},\"name\":{},\"arguments\":{}", place(), json_text(name_),
                                           json_text(written_)));
                item = call_item(status, calls_ - 1, name_, written_);
                break;
            case OpenItem::Thought:
                events =
                    event("response.reasoning_text.done",
                          fmt::format("{},\"content_index\":0,\"text\":{}", place(), json_text(written_)));
                events += part_event("done", written_);
                item = thought_item(status, thought_part(written_));
                break;
            case OpenItem::Message:
                events = event("response.output_text.done",
                               fmt::format("{},\"content_index\":0,\"text\":{},\"logprobs\":[]", place(),
                                           json_text(written_)));
                events += part_event("done", written_);
                item = message_item(status, part(written_));
        }
        open_ = OpenItem::None;
        return events + event("response.output_item.done",
                              fmt::format("\"output_index\":{},\"item\":{}", items_ - 1, item));
    }

    // The part of a message or of thoughts begins or ends.
    std::string part_event(std::string_view what, std::string_view text) {
        return event(fmt::format("response.content_part.{}", what),
                     fmt::format("{},\"content_index\":0,\"part\":{}", place(),
                                 open_ == OpenItem::Thought ? thought_part(text) : part(text)));
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
        const ReadAnswer answer = head_.calls.read(outcome.text);
        const bool message = !answer.text.empty() || (answer.calls.empty() && answer.thought.empty());
        std::string items;
        if (!answer.thought.empty())
            items = thought_item(message || !answer.calls.empty() ? "completed" : status(outcome),
                                 thought_part(answer.thought));
        if (message)
            items += (items.empty() ? "" : ",") +
                     message_item(answer.calls.empty() ? status(outcome) : "completed", part(answer.text));
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
    OpenItem open_ = OpenItem::None;
    int items_ = 0, calls_ = 0;   // begun
    std::string name_, written_;  // of the open item: its tool, and its text or arguments
};

}  // namespace

std::unique_ptr<AnswerFormat> responses_format(AnswerHead head, std::string settings) {
    return std::make_unique<ResponsesFormat>(std::move(head), std::move(settings));
}

}  // namespace voltpile::llm
