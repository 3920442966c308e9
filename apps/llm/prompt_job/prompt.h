// One prompt of a job, as its line asks for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "llm/ops/sampling.h"
#include "llm/tokenizer/chat_template.h"

namespace voltpile::llm {

// What the job's own keys say, and a line may say otherwise.
struct PromptSettings {
    SamplingSettings sampling;
    int max_tokens = 128;
    std::vector<std::string> stop;
};

struct Prompt {
    std::string place;                  // "prompts.jsonl:12"
    std::string id;                     // the line's own; empty: none
    std::string text;                   // plain; or of the messages what the line has of them
    std::vector<ChatMessage> messages;  // until they are tokens
    std::vector<std::int32_t> tokens;
    PromptSettings settings;
    std::string error;  // why it cannot be used; then only `place` and `id` count
};

}  // namespace voltpile::llm
