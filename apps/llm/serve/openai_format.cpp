#include "llm/serve/openai_format.h"

#include <fmt/format.h>

#include <utility>

#include "llm/serve/event_text.h"

namespace voltpile::llm {
namespace {

std::string beginning_of(const AnswerHead& head, std::string_view object) {
    return fmt::format("{{\"id\":{},\"object\":\"{}\",\"created\":{},\"model\":{}", json_text(head.id),
                       object, head.created, json_text(head.model));
}

}  // namespace

OpenAiFormat::OpenAiFormat(AnswerHead head, const Tokenizer& tokenizer, std::string_view object,
                           std::string_view event_object)
    : head_(std::move(head)),
      tokenizer_(tokenizer),
      beginning_(beginning_of(head_, object)),
      event_beginning_(beginning_of(head_, event_object)),
      no_usage_(head_.include_usage ? ",\"usage\":null" : "") {}

std::string OpenAiFormat::choice_event(std::string_view choice) const {
    return data_event(fmt::format("{},\"choices\":[{}]{}}}", event_beginning_, choice, no_usage_));
}

std::string OpenAiFormat::end_events(const AnswerUsage& usage) {
    std::string events;
    if (head_.include_usage)
        events =
            data_event(fmt::format("{},\"choices\":[],\"usage\":{}}}", event_beginning_, usage_json(usage)));
    return events + "data: [DONE]\n\n";
}

std::string OpenAiFormat::error_event(const ApiError& error) {
    return data_event(error.body());
}

std::string OpenAiFormat::whole_answer(std::string_view choices, const AnswerUsage& usage,
                                       std::string_view more) const {
    return fmt::format("{},\"choices\":[{}],\"usage\":{}{}}}", beginning_, choices, usage_json(usage), more);
}

std::string OpenAiFormat::prompt_scores(std::size_t prompt, const Outcome& outcome) const {
    const PromptScores& scores = head_.prompt_scores;
    if (!scores.wanted()) return {};
    return fmt::format(",\"prompt_logprobs\":{}",
                       prompt_scores_json(tokenizer_, scores.prompts[prompt], outcome, scores.most));
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
