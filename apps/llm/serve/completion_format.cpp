#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "llm/serve/event_text.h"
#include "llm/serve/openai_format.h"
#include "llm/tokenizer/stream_decoder.h"

namespace voltpile::llm {
namespace {

using nlohmann::ordered_json;

// Counts characters of UTF-8.
std::int64_t characters(std::string_view text) {
    return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

class CompletionFormat final : public OpenAiFormat {
  public:
    CompletionFormat(AnswerHead head, const Tokenizer& tokenizer, std::vector<CompletionEcho> echo,
                     bool only_prompt)
        : OpenAiFormat(std::move(head), tokenizer, "text_completion", "text_completion"),
          echo_(std::move(echo)),
          only_prompt_(only_prompt) {}

    std::string begin_event(int number) override {
        const std::string& echo = echo_of(number).text;
        return echo.empty() ? "" : event(number, echo, "null", "null");
    }

    std::string delta_event(int number, const Delta& delta) override {
        const bool told = head().logprobs && !delta.tokens.empty();
        if (only_prompt_ || (delta.text.empty() && !told)) return {};
        std::string logprobs = "null";
        if (told) {
            TokenLists lists;
            Place& place = place_of(number);
            add(delta.tokens, delta.log_probability, delta.top, place, lists);
            logprobs = lists.json();
        }
        return event(number, delta.text, logprobs, "null");
    }

    std::string finish_event(int number, const Outcome& outcome) override {
        return event(number, "", "null", fmt::format("\"{}\"", finish_reason(outcome.finish)));
    }

    std::string whole(std::span<const Outcome> outcomes, const AnswerUsage& usage) override {
        std::string choices;
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            const Outcome& one = outcomes[i];
            const auto number = static_cast<int>(i);
            const std::string text = only_prompt_ ? "" : one.text;
            choices += fmt::format(
                "{}{}", i > 0 ? "," : "",
                choice(number, echo_of(number).text + text,
                       head().logprobs ? whole_logprobs(number, one) : "null",
                       fmt::format("\"{}\"", finish_reason(one.finish)),
                       prompt_scores(i * head().prompt_scores.prompts.size() / outcomes.size(), one)));
        }
        AnswerUsage counted = usage;
        if (only_prompt_) counted.tokens = 0;
        return whole_answer(choices, counted);
    }

  private:
    // Where the next token's text begins in the answer.
    struct Place {
        Place(const Tokenizer& of, bool continues) : decoder(of, true, continues) {}
        StreamDecoder decoder;
        std::int64_t offset = 0;  // characters
    };

    // The members of "logprobs".
    struct TokenLists {
        ordered_json texts = ordered_json::array(), values = texts, tops = texts, offsets = texts;

        std::string json() const {
            return ordered_json{{"tokens", texts},
                                {"token_logprobs", values},
                                {"top_logprobs", tops.empty() ? ordered_json() : tops},
                                {"text_offset", offsets}}
                .dump();
        }
    };

    const CompletionEcho& echo_of(int number) const {
        static const CompletionEcho none;
        return echo_.empty() ? none : echo_[static_cast<std::size_t>(number)];
    }

    // Of a streamed answer.
    Place& place_of(int number) {
        while (places_.size() <= static_cast<std::size_t>(number)) {
            places_.emplace_back(tokenizer(), true);
            places_.back().offset = characters(echo_of(static_cast<int>(places_.size()) - 1).text);
        }
        return places_[static_cast<std::size_t>(number)];
    }

    void add(std::span<const TokenId> tokens, std::span<const float> logprobs, std::span<const TopTokens> top,
             Place& place, TokenLists& to) const {
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            to.texts.push_back(token_text(tokenizer(), tokens[i]));
            to.values.push_back(finite_logprob(logprobs[i]));
            to.offsets.push_back(place.offset);
            place.offset += characters(place.decoder.push(tokens[i]));
            if (i >= top.size() || head().top == 0) continue;
            ordered_json each = ordered_json::object();
            const auto shown = std::min(top[i].token.size(), static_cast<std::size_t>(head().top));
            for (std::size_t k = 0; k < shown; ++k)
                each[token_text(tokenizer(), top[i].token[k])] = finite_logprob(top[i].log_probability[k]);
            // As OpenAI's and other servers do.
            each[token_text(tokenizer(), tokens[i])] = finite_logprob(logprobs[i]);
            to.tops.push_back(std::move(each));
        }
    }

    std::string whole_logprobs(int number, const Outcome& outcome) const {
        TokenLists lists;
        const CompletionEcho& echo = echo_of(number);
        Place place(tokenizer(), echo.tokens.empty());
        if (echo.tokens.empty()) {
            place.offset = characters(echo.text);
        } else {  // nothing says how probable the first token is
            const std::span tokens = echo.tokens;
            lists.texts.push_back(token_text(tokenizer(), tokens.front()));
            lists.values.push_back(nullptr);
            lists.offsets.push_back(0);
            place.offset = characters(place.decoder.push(tokens.front()));
            if (head().top > 0 && (!outcome.prompt_top.empty() || !outcome.top.empty()))
                lists.tops.push_back(nullptr);
            add(tokens.subspan(1), outcome.prompt_log_probability, outcome.prompt_top, place, lists);
        }
        if (!only_prompt_) add(outcome.tokens, outcome.log_probability, outcome.top, place, lists);
        return lists.json();
    }

    static std::string choice(int number, std::string_view text, std::string_view logprobs,
                              std::string_view finish, std::string_view more = "") {
        return fmt::format("{{\"index\":{},\"text\":{},\"logprobs\":{},\"finish_reason\":{}{}}}", number,
                           json_text(text), logprobs, finish, more);
    }

    std::string event(int number, std::string_view text, std::string_view logprobs,
                      std::string_view finish) const {
        return choice_event(choice(number, text, logprobs, finish));
    }

    std::vector<CompletionEcho> echo_;
    bool only_prompt_;
    std::vector<Place> places_;
};

}  // namespace

std::unique_ptr<AnswerFormat> completion_format(AnswerHead head, const Tokenizer& tokenizer,
                                                std::vector<CompletionEcho> echo, bool only_prompt) {
    return std::make_unique<CompletionFormat>(std::move(head), tokenizer, std::move(echo), only_prompt);
}

}  // namespace voltpile::llm
