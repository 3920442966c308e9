// One prompt of a job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "llm/chat/chat_template.h"
#include "llm/engine/request.h"

namespace voltpile::llm {

struct Prompt {
    std::string place;                  // "prompts.jsonl:12"
    std::string id;                     // from the line; empty for none
    std::string text;                   // the plain prompt, or the messages as JSON
    std::vector<ChatMessage> messages;  // cleared once they are tokens
    std::vector<std::int32_t> tokens;
    RequestSettings settings;  // from the job's keys, which a line can override
    std::string error;         // if the prompt cannot be used; then only `place` and `id` matter
};

}  // namespace voltpile::llm
