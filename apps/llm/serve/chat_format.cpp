#include <fmt/format.h>

#include "llm/serve/event_text.h"
#include "llm/serve/openai_format.h"

namespace voltpile::llm {
namespace {

class ChatFormat final : public OpenAiFormat {
  public:
    ChatFormat(AnswerHead head, const Tokenizer& tokenizer)
        : OpenAiFormat(std::move(head), tokenizer, "chat.completion", "chat.completion.chunk"),
          readers_(this->head().calls) {}

    std::string begin_event(int number) override {
        return event(number, R"({"role":"assistant","content":""})", "null", "null");
    }

    std::string delta_event(int number, const Delta& delta) override {
        std::string logprobs = "null";
        const bool told = head().logprobs && !delta.tokens.empty();
        if (told)
            logprobs = fmt::format(
                "{{\"content\":{}}}",
                chat_logprobs(tokenizer(), delta.tokens, delta.log_probability, delta.top, head().top));
        std::string events = piece_events(number, readers_.of(number).read(delta.text), logprobs);
        if (events.empty() && told) events = event(number, R"({"content":""})", logprobs, "null");
        return events;
    }

    std::string finish_event(int number, const Outcome& outcome) override {
        ToolCallReader& reader = readers_.of(number);
        std::string events = piece_events(number, reader.finish(), "null");
        return events +
               event(number, "{}", "null", fmt::format("\"{}\"", reason(outcome, reader.calls() > 0)));
    }

    std::string whole(std::span<const Outcome> outcomes, const AnswerUsage& usage) override {
        std::string choices;
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            const Outcome& one = outcomes[i];
            const std::string logprobs =
                head().logprobs ? fmt::format("{{\"content\":{},\"refusal\":null}}",
                                              chat_logprobs(tokenizer(), one.tokens, one.log_probability,
                                                            one.top, head().top))
                                : "null";
            const ReadAnswer answer = head().calls.read(one.text);
            choices +=
                fmt::format("{}{{\"index\":{},\"message\":{},\"logprobs\":{},\"finish_reason\":\"{}\"}}",
                            i > 0 ? "," : "", i, message(static_cast<int>(i), answer), logprobs,
                            reason(one, !answer.calls.empty()));
        }
        return whole_answer(choices, usage, prompt_scores(0, outcomes.front()));
    }

  private:
    static std::string_view reason(const Outcome& outcome, bool calls) {
        const std::string_view reason = finish_reason(outcome.finish);
        return calls && reason == "stop" ? "tool_calls" : reason;
    }

    // One event for each piece of an answer; the first has the log probabilities.
    std::string piece_events(int number, const std::vector<ToolCallPiece>& pieces,
                             std::string_view logprobs) {
        std::string events;
        int call = readers_.of(number).calls() - 1;
        for (const ToolCallPiece& piece : pieces) call -= piece.kind == ToolCallPiece::Kind::Name ? 1 : 0;
        for (const ToolCallPiece& piece : pieces) {
            std::string delta;
            switch (piece.kind) {
                case ToolCallPiece::Kind::Thought:
                    delta = fmt::format("{{\"reasoning_content\":{}}}", json_text(piece.text));
                    break;
                case ToolCallPiece::Kind::Text:
                    delta = fmt::format("{{\"content\":{}}}", json_text(piece.text));
                    break;
                case ToolCallPiece::Kind::Name:
                    ++call;
                    delta = fmt::format("{{\"tool_calls\":[{{\"index\":{},{}}}]}}", call,
                                        call_members(number, call, piece.text, ""));
                    break;
                case ToolCallPiece::Kind::Arguments:
                    delta =
                        fmt::format("{{\"tool_calls\":[{{\"index\":{},\"function\":{{\"arguments\":{}}}}}]}}",
                                    call, json_text(piece.text));
            }
            events += event(number, delta, events.empty() ? logprobs : "null", "null");
        }
        return events;
    }

    std::string call_members(int number, int call, std::string_view name, std::string_view arguments) const {
        return fmt::format(R"("id":"{}","type":"function","function":{{"name":{},"arguments":{}}})",
                           head().calls.id("call_", number, call), json_text(name), json_text(arguments));
    }

    std::string message(int number, const ReadAnswer& answer) const {
        const std::string thought =
            answer.thought.empty() ? ""
                                   : fmt::format(R"("reasoning_content":{},)", json_text(answer.thought));
        if (answer.calls.empty())
            return fmt::format(R"({{"role":"assistant",{}"content":{},"refusal":null}})", thought,
                               json_text(answer.text));
        std::string calls;
        for (int i = 0; i < std::ssize(answer.calls); ++i) {
            const ToolCall& call = answer.calls[static_cast<std::size_t>(i)];
            calls +=
                fmt::format("{}{{{}}}", i > 0 ? "," : "", call_members(number, i, call.name, call.arguments));
        }
        return fmt::format(R"({{"role":"assistant",{}"content":{},"refusal":null,"tool_calls":[{}]}})",
                           thought, answer.text.empty() ? "null" : json_text(answer.text), calls);
    }

    std::string event(int number, std::string_view delta, std::string_view logprobs,
                      std::string_view finish) const {
        return choice_event(fmt::format("{{\"index\":{},\"delta\":{},\"logprobs\":{},\"finish_reason\":{}}}",
                                        number, delta, logprobs, finish));
    }

    CallReaders readers_;
};

}  // namespace

std::unique_ptr<AnswerFormat> chat_format(AnswerHead head, const Tokenizer& tokenizer) {
    return std::make_unique<ChatFormat>(std::move(head), tokenizer);
}

}  // namespace voltpile::llm
