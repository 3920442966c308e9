// Requests to /v1/completions and /v1/chat/completions, read from JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "llm/chat/chat_template.h"
#include "llm/grammar/thought_reader.h"
#include "llm/grammar/tool_format.h"
#include "llm/serve/generation_fields.h"

namespace voltpile::llm {

struct CompletionRequest {
    GenerationFields fields;
    // Each is a text or its tokens; at least one.
    std::vector<std::variant<std::string, std::vector<std::int32_t>>> prompts;
    bool echo = false;         // the answer begins with the prompt
    bool only_prompt = false;  // and ends with it: max_tokens is 0
};

struct ChatRequest {
    GenerationFields fields;
    std::vector<ChatMessage> messages;
    ChatOptions options;
    std::optional<ToolFormat> tool_format;  // how the answer may call tools
    Thoughts thoughts = Thoughts::None;     // whether the answer has some
};

// seed: as for read_generation_fields(). Throw ApiError.
CompletionRequest read_completion_request(std::string_view body, const ServedModel& model,
                                          std::uint64_t seed);
ChatRequest read_chat_request(std::string_view body, const ServedModel& model, std::uint64_t seed);

// Sets whether the answer to a request has thoughts, also in its grammar. prompt: whether the template
// expects some. A grammar that holds from the first token leaves no room for them, except in the harmony
// format.
void expect_thoughts(ChatRequest& request, Thoughts prompt);

// Reads how much the model is to think, low, medium or high, for its template. Throws ApiError, also if the
// template takes no effort.
void read_effort(FieldReader& fields, std::string_view name, const ServedModel& model, ChatRequest& request);

// Reads "messages", which must be there.
std::vector<ChatMessage> read_messages(FieldReader& fields);

// Reads a field that is a text or a list of parts of these types. path: of the reader's object.
std::string read_content(FieldReader& fields, const std::string& path, std::string_view name,
                         std::initializer_list<std::string_view> types);

}  // namespace voltpile::llm
