// Anthropic's API: /v1/messages.
#pragma once

#include <memory>
#include <string_view>

#include "llm/serve/answer_format.h"
#include "llm/serve/completion_request.h"

namespace voltpile::llm {

// Throws ApiError. seed: as for read_generation_fields().
ChatRequest read_messages_request(std::string_view body, const ServedModel& model, std::uint64_t seed);

// prompt_tokens: of the conversation. stop: the texts that end the answer.
std::unique_ptr<AnswerFormat> messages_format(AnswerHead head, std::int64_t prompt_tokens,
                                              std::vector<std::string> stop);

// An error in the form of this API.
http::Response messages_error(const ApiError& error);

}  // namespace voltpile::llm
