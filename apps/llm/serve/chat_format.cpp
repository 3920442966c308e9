#include <fmt/format.h>

#include "llm/serve/answer_format.h"
#include "llm/serve/event_text.h"

namespace voltpile::llm {
namespace {

class ChatFormat final : public AnswerFormat {
  public:
    ChatFormat(AnswerHead head, const Tokenizer& tokenizer)
        : head_(std::move(head)),
          tokenizer_(tokenizer),
          no_usage_(head_.include_usage ? ",\"usage\":null" : "") {}

    std::string begin_event(int number) override {
        return event(number, R"({"role":"assistant","content":""})", "null", "null");
    }

    std::string delta_event(int number, const Delta& delta) override {
        const bool told = head_.logprobs && !delta.tokens.empty();
        if (delta.text.empty() && !told) return {};
        const std::string logprobs =
            told ? fmt::format("{{\"content\":{}}}",
                               chat_logprobs(tokenizer_, delta.tokens, delta.log_probability, delta.top))
                 : "null";
        return event(number, fmt::format("{{\"content\":{}}}", json_text(delta.text)), logprobs, "null");
    }

    std::string finish_event(int number, const Outcome& outcome) override {
        return event(number, "{}", "null", fmt::format("\"{}\"", finish_reason(outcome.finish)));
    }

    std::string end_events(const AnswerUsage& usage) override {
        std::string events;
        if (head_.include_usage)
            events = data_event(fmt::format("{},\"choices\":[],\"usage\":{}}}",
                                            beginning("chat.completion.chunk"), usage_json(usage)));
        return events + "data: [DONE]\n\n";
    }

    std::string error_event(const ApiError& error) override { return data_event(error.body()); }

    std::string whole(std::span<const Outcome> outcomes, const AnswerUsage& usage) override {
        std::string choices;
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            const Outcome& one = outcomes[i];
            const std::string logprobs =
                head_.logprobs
                    ? fmt::format("{{\"content\":{},\"refusal\":null}}",
                                  chat_logprobs(tokenizer_, one.tokens, one.log_probability, one.top))
                    : "null";
            choices += fmt::format(
                "{}{{\"index\":{},\"message\":{{\"role\":\"assistant\",\"content\":{},\"refusal\":null}},"
                "\"logprobs\":{},"
                "\"finish_reason\":\"{}\"}}",
                i > 0 ? "," : "", i, json_text(one.text), logprobs, finish_reason(one.finish));
        }
        return fmt::format("{},\"choices\":[{}],\"usage\":{}}}", beginning("chat.completion"), choices,
                           usage_json(usage));
    }

  private:
    std::string beginning(std::string_view object) const {
        return fmt::format("{{\"id\":{},\"object\":\"{}\",\"created\":{},\"model\":{}", json_text(head_.id),
                           object, head_.created, json_text(head_.model));
    }

    std::string event(int number, std::string_view delta, std::string_view logprobs,
                      std::string_view finish) const {
        return data_event(fmt::format(
            "{},\"choices\":[{{\"index\":{},\"delta\":{},\"logprobs\":{},\"finish_reason\":{}}}]{}}}",
            chunk_beginning_, number, delta, logprobs, finish, no_usage_));
    }

    AnswerHead head_;
    const Tokenizer& tokenizer_;
    std::string no_usage_;  // in events that have no usage, in streams that end with it
    std::string chunk_beginning_ = beginning("chat.completion.chunk");
};

}  // namespace

std::unique_ptr<AnswerFormat> chat_format(AnswerHead head, const Tokenizer& tokenizer) {
    return std::make_unique<ChatFormat>(std::move(head), tokenizer);
}

}  // namespace voltpile::llm
