// Messages of a conversation in JSON, as OpenAI's API has them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "llm/chat/chat_template.h"

namespace voltpile::llm {

// Returns a message: an object with "role" and "content", and perhaps tool_calls, tool_call_id, name,
// reasoning_content, refusal and annotations. content: a text, a list of parts whose type is "text" (they
// become one text), or null next to tool_calls. The arguments of tool calls, which OpenAI's API has as texts,
// become the objects in them, as templates expect. Throws JobError that names the field.
ChatMessage message_from_json(const nlohmann::ordered_json& json);

}  // namespace voltpile::llm
