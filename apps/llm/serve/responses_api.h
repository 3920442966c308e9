// OpenAI's newer API: /v1/responses, with text in and out.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "llm/serve/answer_format.h"
#include "llm/serve/completion_request.h"

namespace voltpile::llm {

struct ResponsesRequest {
    ChatRequest chat;
    std::string settings;  // members of the response that repeat the request, as JSON without braces
};

// Throws ApiError. seed: as for read_generation_fields().
ResponsesRequest read_responses_request(std::string_view body, const ServedModel& model, std::uint64_t seed);

// settings: of the request.
std::unique_ptr<AnswerFormat> responses_format(AnswerHead head, std::string settings);

}  // namespace voltpile::llm
