#include <fmt/format.h>

#include "llm/serve/event_text.h"
#include "llm/serve/responses_api.h"

namespace voltpile::llm {
namespace {

class ResponsesFormat final : public AnswerFormat {
  public:
    ResponsesFormat(AnswerHead head, std::string settings)
        : head_(std::move(head)), settings_(std::move(settings)) {}

    std::string begin_event(int) override {
        const std::string begun = response("in_progress", "", "null");
        std::string events = event("response.created", "\"response\":" + begun);
        events += event("response.in_progress", "\"response\":" + begun);
        events +=
            event("response.output_item.added", "\"output_index\":0,\"item\":" + item("in_progress", ""));
        events += event("response.content_part.added", fmt::format("{},\"part\":{}", place(), part("")));
        return events;
    }

    std::string delta_event(int, const Delta& delta) override {
        if (delta.text.empty()) return {};
        return event("response.output_text.delta",
                     fmt::format("{},\"delta\":{},\"logprobs\":[]", place(), json_text(delta.text)));
    }

    std::string finish_event(int, const Outcome& outcome) override {
        last_ = outcome;
        std::string events =
            event("response.output_text.done",
                  fmt::format("{},\"text\":{},\"logprobs\":[]", place(), json_text(outcome.text)));
        events +=
            event("response.content_part.done", fmt::format("{},\"part\":{}", place(), part(outcome.text)));
        events += event("response.output_item.done",
                        "\"output_index\":0,\"item\":" + item(status(outcome), part(outcome.text)));
        return events;
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

    std::string place() const {
        return fmt::format(R"("item_id":{},"output_index":0,"content_index":0)",
                           json_text("msg_" + head_.id));
    }

    std::string item(std::string_view status, std::string_view content) const {
        return fmt::format(R"({{"id":{},"type":"message","status":"{}","role":"assistant","content":[{}]}})",
                           json_text("msg_" + head_.id), status, content);
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
        return response(status(outcome), item(status(outcome), part(outcome.text)), counts);
    }

    // Events are numbered, and have their type in front of the data as well.
    std::string event(std::string_view type, std::string_view members) {
        return fmt::format("event: {0}\ndata: {{\"type\":\"{0}\",\"sequence_number\":{1},{2}}}\n\n", type,
                           number_++, members);
    }

    AnswerHead head_;
    std::string settings_;
    Outcome last_;  // what finish_event() had
    int number_ = 0;
};

}  // namespace

std::unique_ptr<AnswerFormat> responses_format(AnswerHead head, std::string settings) {
    return std::make_unique<ResponsesFormat>(std::move(head), std::move(settings));
}

}  // namespace voltpile::llm
