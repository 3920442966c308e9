// Turns the messages of a conversation into the text format that a chat model was trained on. Each model's
// files have their own template, a program in Jinja. This recognizes the templates of the supported families
// by their markers and renders them in C++.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace voltpile::llm {

enum class ChatRole { System, User, Assistant };

struct ChatMessage {
    ChatRole role;
    std::string content;  // UTF-8
};

struct ChatOptions {
    bool add_generation_prompt = true;  // end with the beginning of the answer
    bool thinking = true;               // Qwen 3: the model may think before it answers
    std::string date = "26 Jul 2024";   // Llama 3.1: "today"; this is the template's own default
};

enum class ChatFamily {
    ChatMl,
    Qwen3,
    Llama2,
    Llama3,
    Llama31,
    MistralV0_1,
    MistralV0_2,
    MistralV1,
    MistralV3,
    MistralTekken,
};

class ChatTemplate {
  public:
    // Returns the template with this name. Throws JobError, which lists the names, for an unknown one.
    static ChatTemplate named(std::string_view name);

    // Recognizes a model's template: chat_template in tokenizer_config.json, tokenizer.chat_template in GGUF.
    // Throws JobError, which lists the names, if it cannot. where: the template's origin, for the message.
    static ChatTemplate recognized(std::string_view text, std::string_view where);

    static std::vector<std::string_view> names();

    // Renders the messages. bos, eos: the texts of these tokens. The result contains the special tokens that
    // the model needs, so encode it with add_special off and parse_special on. Throws JobError for messages
    // that the family cannot have: none at all or, for Llama 2 and Mistral, anything but user and assistant
    // in turn after at most one system message.
    std::string render(std::span<const ChatMessage> messages, std::string_view bos, std::string_view eos,
                       const ChatOptions& options = {}) const;

    std::string_view name() const;
    ChatFamily family() const { return family_; }

  private:
    ChatTemplate(ChatFamily family, std::string default_system)
        : family_(family), default_system_(std::move(default_system)) {}

    ChatFamily family_;
    std::string default_system_;  // ChatMl: the system message if the conversation has none
};

}  // namespace voltpile::llm
