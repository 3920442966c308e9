// Turns the messages of a conversation into the text format that a chat model was trained on. Each model's
// files have their own template, a program in Jinja; it is rendered as transformers renders it.
#pragma once

#include <ctime>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "llm/chat/jinja/template.h"
#include "llm/chat/jinja/value.h"

namespace voltpile::llm {

enum class ChatRole { System, Developer, User, Assistant, Tool };

std::string_view name(ChatRole role);

// A message as templates see it. chat_json.h makes it from JSON.
struct ChatMessage {
    ChatRole role;
    jinja::Value content;      // a text in UTF-8, a list of parts, or None
    jinja::Entries more = {};  // other fields: tool_calls, tool_call_id, name, reasoning_content, ...
};

struct ChatOptions {
    bool add_generation_prompt = true;  // end with the beginning of the answer
    jinja::Value tools = {};            // a list of the tools' JSON schemas, or None
    jinja::Value documents = {};        // a list of maps with title and text, or None
    jinja::Entries arguments = {};      // other variables of the template: enable_thinking, date_string, ...
    std::optional<std::time_t> now = {};  // the time for templates that print it; without it, now
};

class ChatTemplate {
  public:
    // Returns the template with this name. Throws JobError, which lists the names, for an unknown one.
    static ChatTemplate named(std::string_view name);

    // Returns a model's own template: chat_template in tokenizer_config.json, tokenizer.chat_template in
    // GGUF. where: its origin, for messages. Throws JobError if it is not valid Jinja.
    static ChatTemplate of_model(std::string_view text, std::string_view where);

    static std::vector<std::string_view> names();

    // Renders the messages. bos, eos: the texts of these tokens. A message of the role developer becomes one
    // of the role system if the template does not mention developers. Templates of gpt-oss refuse a message
    // with calls that has both content and reasoning; such content becomes the end of the reasoning. The
    // result contains the special tokens that the model needs, so encode it with add_special off and
    // parse_special on. Any number of threads may call this at once. Throws JobError if there are no
    // messages, if the template refuses them, and for an error in the template, with its line.
    std::string render(std::span<const ChatMessage> messages, std::string_view bos, std::string_view eos,
                       const ChatOptions& options = {}) const;

    std::string_view name() const { return name_; }
    const std::string& source() const { return source_; }  // in Jinja
    // Whether ChatOptions::tools can change what it renders.
    bool takes_tools() const { return takes_tools_; }
    // Whether the variable reasoning_effort can.
    bool takes_effort() const { return takes_effort_; }

  private:
    ChatTemplate(std::string name, std::string source, std::string_view where);

    std::string name_, source_;
    jinja::Template jinja_;
    bool takes_tools_, takes_effort_, knows_developers_;
    bool harmony_;  // the format of gpt-oss
};

}  // namespace voltpile::llm
