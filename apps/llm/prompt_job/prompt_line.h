// One line of a prompt file.
#pragma once

#include <string>

#include "llm/prompt_job/prompt.h"

namespace voltpile::llm {

// A line of JSON:
//   {"prompt": "..."} or {"messages": [{"role": "system" | "user" | "assistant", "content": "..."}, ...]}
// and, where it differs from what the job says, "id", "max_tokens", "temperature", "top_k", "top_p", "min_p",
// "repetition_penalty", "presence_penalty", "frequency_penalty", "seed", "stop" (a text, or a list of them).
// What is wrong with it is in Prompt::error. settings: what the job says.
Prompt parse_json_line(const std::string& line, const PromptSettings& settings);

// A prompt as it stands.
Prompt parse_text_line(const std::string& line, const PromptSettings& settings);

}  // namespace voltpile::llm
