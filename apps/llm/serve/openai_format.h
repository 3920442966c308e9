// What the answers of OpenAI's two older APIs, chat and completions, have in common.
#pragma once

#include <string>
#include <string_view>

#include "llm/serve/answer_format.h"

namespace voltpile::llm {

class OpenAiFormat : public AnswerFormat {
  public:
    std::string end_events(const AnswerUsage& usage) override;
    std::string error_event(const ApiError& error) override;

  protected:
    // object, event_object: the type of whole answers, and of events. tokenizer: must outlive this object.
    OpenAiFormat(AnswerHead head, const Tokenizer& tokenizer, std::string_view object,
                 std::string_view event_object);

    const AnswerHead& head() const { return head_; }
    const Tokenizer& tokenizer() const { return tokenizer_; }
    // Returns an event with one choice, a JSON object.
    std::string choice_event(std::string_view choice) const;
    // Returns a whole answer with its choices, JSON objects with commas between them. more: further members,
    // each with a comma before it.
    std::string whole_answer(std::string_view choices, const AnswerUsage& usage,
                             std::string_view more = "") const;
    // Returns the member prompt_logprobs of a prompt, with a comma before it; empty if nobody asked for it.
    std::string prompt_scores(std::size_t prompt, const Outcome& outcome) const;

  private:
    AnswerHead head_;
    const Tokenizer& tokenizer_;
    std::string beginning_, event_beginning_;
    std::string no_usage_;  // in events that have no usage, in streams that end with it
};

}  // namespace voltpile::llm
