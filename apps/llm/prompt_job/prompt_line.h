// Parses the lines of a prompt file.
#pragma once

#include <string>

#include "llm/prompt_job/prompt.h"

namespace voltpile::llm {

// Parses a line of JSON:
//   {"prompt": "..."} or {"messages": [{"role": "system" | "user" | "assistant", "content": "..."}, ...]}
// Optional fields are "id", the form of the answer (response_format.h), and those of kRequestFields, except
// "top_n", which override the job. settings: those of the job. Reports errors in Prompt::error.
Prompt parse_json_line(const std::string& line, const RequestSettings& settings);

// Returns a line of plain text as a prompt.
Prompt parse_text_line(const std::string& line, const RequestSettings& settings);

}  // namespace voltpile::llm
