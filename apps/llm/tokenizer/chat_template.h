// From the messages of a conversation to the text that a chat model was trained on. Each model's files carry
// a template of their own, a program in Jinja; the templates of the supported families are recognized by
// their markers and done here.
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
    bool add_generation_prompt = true;  // ends with the beginning of the answer
    bool thinking = true;               // Qwen 3: may think before it answers
    std::string date =
        "26 Jul 2024";  // Llama 3.1: "today", which is this day unless the template is told another
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
    // Throws JobError that lists the names for an unknown one.
    static ChatTemplate named(std::string_view name);

    // Recognizes the template of a model: chat_template of tokenizer_config.json, tokenizer.chat_template of
    // GGUF. Throws JobError that lists the names if it cannot; `where` the template is from is for the
    // message.
    static ChatTemplate recognized(std::string_view text, std::string_view where);

    static std::vector<std::string_view> names();

    // `bos` and `eos`: the texts of the model's tokens. The result has what special tokens the model wants,
    // so it is encoded with add_special off and parse_special on. Throws JobError if the family cannot have
    // these messages: none at all, or, for Llama 2 and Mistral, others than user and assistant in turn after
    // at most one of the system.
    std::string render(std::span<const ChatMessage> messages, std::string_view bos, std::string_view eos,
                       const ChatOptions& options = {}) const;

    std::string_view name() const;
    ChatFamily family() const { return family_; }

  private:
    ChatTemplate(ChatFamily family, std::string default_system)
        : family_(family), default_system_(std::move(default_system)) {}

    ChatFamily family_;
    std::string default_system_;  // ChatMl: the system's message where there is none
};

}  // namespace voltpile::llm
