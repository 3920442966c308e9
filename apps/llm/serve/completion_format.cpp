#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "llm/serve/answer_format.h"
#include "llm/serve/event_text.h"
#include "llm/tokenizer/stream_decoder.h"

namespace voltpile::llm {
namespace {

using nlohmann::ordered_json;

// Counts characters of UTF-8.
std::int64_t characters(std::string_view text) {
    return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

class CompletionFormat final : public AnswerFormat {
  public:
    CompletionFormat(AnswerHead head, const Tokenizer& tokenizer, std::vector<std::string> echo)
        : head_(std::move(head)), tokenizer_(tokenizer), echo_(std::move(echo)) {}

    std::string begin_event(int number) override {
        const std::string& echo = echo_of(number);
        return echo.empty() ? "" : event(number, echo, "null", "null");
    }

    std::string delta_event(int number, const Delta& delta) override {
        const bool told = head_.logprobs && !delta.tokens.empty();
        if (delta.text.empty() && !told) return {};
        const std::string logprobs =
            told ? token_logprobs(number, delta.tokens, delta.log_probability, delta.top) : "null";
        return event(number, delta.text, logprobs, "null");
    }

    std::string finish_event(int number, const Outcome& outcome) override {
        return event(number, "", "null", fmt::format("\"{}\"", finish_reason(outcome.finish)));
    }

    std::string end_events(const AnswerUsage& usage) override {
        std::string events;
        if (head_.include_usage)
            events =
                data_event(fmt::format("{},\"choices\":[],\"usage\":{}}}", beginning_, usage_json(usage)));
        return events + "data: [DONE]\n\n";
    }

    std::string error_event(const ApiError& error) override { return data_event(error.body()); }

    std::string whole(std::span<const Outcome> outcomes, const AnswerUsage& usage) override {
        std::string choices;
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            const Outcome& one = outcomes[i];
            const auto number = static_cast<int>(i);
            const std::string logprobs =
                head_.logprobs ? token_logprobs(number, one.tokens, one.log_probability, one.top) : "null";
            choices += fmt::format("{}{}", i > 0 ? "," : "",
                                   choice(number, echo_of(number) + one.text, logprobs,
                                          fmt::format("\"{}\"", finish_reason(one.finish))));
        }
        return fmt::format("{},\"choices\":[{}],\"usage\":{}}}", beginning_, choices, usage_json(usage));
    }

  private:
    // Where the next token's text begins in the answer.
    struct Place {
        explicit Place(const Tokenizer& tokenizer) : decoder(tokenizer, true, true) {}
        StreamDecoder decoder;
        std::int64_t offset = 0;  // characters
    };

    const std::string& echo_of(int number) const {
        static const std::string none;
        return echo_.empty() ? none : echo_[static_cast<std::size_t>(number)];
    }

    std::string token_logprobs(int number, std::span<const TokenId> tokens, std::span<const float> logprobs,
                               std::span<const TopTokens> top) {
        while (places_.size() <= static_cast<std::size_t>(number)) {
            places_.emplace_back(tokenizer_);
            places_.back().offset = characters(echo_of(static_cast<int>(places_.size()) - 1));
        }
        Place& place = places_[static_cast<std::size_t>(number)];
        ordered_json texts = ordered_json::array(), values = texts, tops = texts, offsets = texts;
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            texts.push_back(token_text(tokenizer_, tokens[i]));
            values.push_back(finite_logprob(logprobs[i]));
            offsets.push_back(place.offset);
            place.offset += characters(place.decoder.push(tokens[i]));
            if (i >= top.size()) continue;
            ordered_json each = ordered_json::object();
            for (std::size_t k = 0; k < top[i].token.size(); ++k)
                each[token_text(tokenizer_, top[i].token[k])] = finite_logprob(top[i].log_probability[k]);
            tops.push_back(std::move(each));
        }
        return ordered_json{{"tokens", texts},
                            {"token_logprobs", values},
                            {"top_logprobs", tops.empty() ? ordered_json() : tops},
                            {"text_offset", offsets}}
            .dump();
    }

    static std::string choice(int number, std::string_view text, std::string_view logprobs,
                              std::string_view finish) {
        return fmt::format("{{\"index\":{},\"text\":{},\"logprobs\":{},\"finish_reason\":{}}}", number,
                           json_text(text), logprobs, finish);
    }

    std::string event(int number, std::string_view text, std::string_view logprobs,
                      std::string_view finish) const {
        return data_event(fmt::format("{},\"choices\":[{}]{}}}", beginning_,
                                      choice(number, text, logprobs, finish),
                                      head_.include_usage ? ",\"usage\":null" : ""));
    }

    AnswerHead head_;
    const Tokenizer& tokenizer_;
    std::vector<std::string> echo_;
    std::vector<Place> places_;
    std::string beginning_ =
        fmt::format("{{\"id\":{},\"object\":\"text_completion\",\"created\":{},\"model\":{}",
                    json_text(head_.id), head_.created, json_text(head_.model));
};

}  // namespace

std::unique_ptr<AnswerFormat> completion_format(AnswerHead head, const Tokenizer& tokenizer,
                                                std::vector<std::string> echo) {
    return std::make_unique<CompletionFormat>(std::move(head), tokenizer, std::move(echo));
}

std::string_view finish_reason(Finish finish) {
    return finish == Finish::Length || finish == Finish::Context ? "length" : "stop";
}

std::string usage_json(const AnswerUsage& usage) {
    return fmt::format(
        "{{\"prompt_tokens\":{},\"completion_tokens\":{},\"total_tokens\":{},\"prompt_tokens_details\":"
        "{{\"cached_tokens\":{}}}}}",
        usage.prompt_tokens, usage.tokens, usage.prompt_tokens + usage.tokens, usage.cached_tokens);
}

}  // namespace voltpile::llm
