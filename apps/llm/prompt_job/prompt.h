// One prompt of a job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "llm/chat/chat_template.h"
#include "llm/ops/sampling.h"

namespace voltpile::llm {

// Settings from the job's keys, which a line can override.
struct PromptSettings {
    SamplingSettings sampling;
    int max_tokens = 128;
    std::vector<std::string> stop;
};

struct Prompt {
    std::string place;                  // "prompts.jsonl:12"
    std::string id;                     // from the line; empty for none
    std::string text;                   // the plain prompt, or the messages as JSON
    std::vector<ChatMessage> messages;  // cleared once they are tokens
    std::vector<std::int32_t> tokens;
    PromptSettings settings;
    std::string error;  // if the prompt cannot be used; then only `place` and `id` matter
};

}  // namespace voltpile::llm
