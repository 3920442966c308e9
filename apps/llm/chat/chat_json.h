// Messages of a conversation in JSON, as OpenAI's API has them: the reader for prompt files and for HTTP.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "llm/chat/chat_template.h"

namespace voltpile::llm {

// Invalid JSON of a conversation: "messages[2].content: must be ...".
class ChatJsonError : public JobError {
  public:
    // place: "messages[2].content".
    ChatJsonError(const std::string& place, const std::string& problem)
        : JobError(place + ": " + problem), place_(place) {}
    const std::string& place() const { return place_; }

  private:
    std::string place_;
};

// Returns the messages of a list: objects with "role" and "content", and perhaps tool_calls, tool_call_id,
// name, reasoning_content, refusal and annotations; a field that is null counts as absent. content: a text or
// a list of text parts; an assistant with tool_calls needs none. place: of the list. Throws ChatJsonError.
std::vector<ChatMessage> messages_from_json(const nlohmann::ordered_json& list,
                                            const std::string& place = "messages");

// Returns a text, or the texts of a list of parts {"type": one of `types`, "text": "..."} with line breaks
// between them, because most templates take only a text. place: of the content. Throws ChatJsonError.
std::string text_of_content(const nlohmann::ordered_json& content, const std::string& place,
                            std::initializer_list<std::string_view> types);

// Returns a member of a message's "tool_calls" as templates expect it. arguments: an object, or a text with
// one in it, as in OpenAI's API; other texts stay as they are. id: may be empty.
jinja::Value tool_call_value(std::string_view id, std::string_view name,
                             const nlohmann::ordered_json& arguments);

}  // namespace voltpile::llm
