// The form in which an API returns answers: whole, or as server-sent events. One object for each API request.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "llm/engine/request_queue.h"
#include "llm/serve/api_error.h"
#include "llm/serve/call_reading.h"
#include "llm/serve/generation_fields.h"
#include "llm/serve/prompt_scores.h"
#include "llm/tokenizer/tokenizer.h"

namespace voltpile::llm {

struct AnswerUsage {
    std::int64_t prompt_tokens = 0;
    std::int64_t cached_tokens = 0;  // of these, found in the KV cache
    std::int64_t tokens = 0;         // generated, in all answers together
};

// What the answers to one request have in common.
struct AnswerHead {
    std::string id;            // "chatcmpl-..."
    std::string model;         // its name
    std::int64_t created = 0;  // Unix time, s
    bool include_usage = false;
    bool logprobs = false;
    CallReading calls{};  // and thoughts
    int top = kMostTop;   // candidates shown beside each token of the answer, if logprobs
    PromptScores prompt_scores{};
};

// Events are complete server-sent events ("data: ...\n\n", one or more). Functions are called by one thread
// at a time; number: of the answer, from 0.
class AnswerFormat {
  public:
    virtual ~AnswerFormat() = default;

    virtual std::string begin_event(int number) = 0;  // before the first delta
    // Empty if there is nothing to say.
    virtual std::string delta_event(int number, const Delta& delta) = 0;
    virtual std::string finish_event(int number, const Outcome& outcome) = 0;
    virtual std::string end_events(const AnswerUsage& usage) = 0;  // after all answers
    virtual std::string error_event(const ApiError& error) = 0;    // instead of what is missing
    virtual http::Response error_response(const ApiError& error) const { return error.response(); }

    virtual std::string whole(std::span<const Outcome> outcomes, const AnswerUsage& usage) = 0;
};

// tokenizer: for log probabilities; must outlive the format.
std::unique_ptr<AnswerFormat> chat_format(AnswerHead head, const Tokenizer& tokenizer);

// What an answer begins with: its prompt.
struct CompletionEcho {
    std::string text{};
    std::vector<TokenId> tokens{};  // empty if their log probabilities are not wanted
};

// echo: empty, or one for each answer. only_prompt: what is generated is left out.
std::unique_ptr<AnswerFormat> completion_format(AnswerHead head, const Tokenizer& tokenizer,
                                                std::vector<CompletionEcho> echo, bool only_prompt = false);

// "stop" or "length".
std::string_view finish_reason(Finish finish);

// The "usage" object of OpenAI's API.
std::string usage_json(const AnswerUsage& usage);

}  // namespace voltpile::llm
