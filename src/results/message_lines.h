// Conversations in lines of JSON, so that answers can be prompts again.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace voltpile {

// The fields of an app that answers prompts, by which this file recognizes its results.
inline constexpr const char* kPromptField = "prompt_text";  // a plain prompt, or messages as JSON
inline constexpr const char* kAnswerField = "text";
inline constexpr const char* kErrorField = "error";  // why there is no answer; empty if there is one

// Adds `messages` to the line of a prompt that had messages: those of the prompt, followed by the answer as
// the assistant's unless the line has an error. Leaves the lines of plain prompts and of other apps
// unchanged.
void add_messages(nlohmann::ordered_json& line);

}  // namespace voltpile
