// The turns of a chat as tokens, so that of each new one only what the model has not seen is processed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "llm/tokenizer/chat_template.h"
#include "llm/tokenizer/tokenizer.h"

namespace voltpile::llm {

class Conversation {
  public:
    // system: its message; empty: none. The tokenizer outlives it. Throws JobError for a template that has no
    // place for a message of the system.
    Conversation(const Tokenizer& tokenizer, ChatTemplate chat_template, std::string system);

    // What the model has to process before it can answer, at positions from `begin` on: everything before is
    // in its cache, which may hold more that is to be forgotten. `tokens` is never empty.
    struct Turn {
        int begin = 0;
        std::span<const TokenId> tokens;  // valid until the next call of ask()
        int end() const { return begin + static_cast<int>(tokens.size()); }
    };

    // The next question, UTF-8. Throws JobError, and nothing has changed, if it is not.
    Turn ask(std::string question);

    // Instead of answered(): the question has never been asked.
    void withdraw();

    // The model's tokens, without one that ends the answer, and how many tokens of the conversation are in
    // its cache by now. Returns the answer's text.
    std::string answered(std::span<const TokenId> answer, int cached);

    void clear();  // begins anew, with the message of the system

  private:
    std::vector<TokenId> tokens_of(const std::string& text, bool continues) const;

    const Tokenizer& tokenizer_;
    ChatTemplate template_;
    std::string bos_, eos_;
    std::vector<ChatMessage> opening_;   // the message of the system, or nothing
    std::vector<ChatMessage> messages_;  // the last question included
    std::string text_;                   // as the template writes it, up to the last question or answer
    std::vector<TokenId> tokens_;        // of text_, as the model had or drew them
    std::size_t cached_ = 0;             // the first of tokens_, in the model's cache
    // Before the last question, for withdraw().
    std::string earlier_text_;
    std::vector<TokenId> earlier_tokens_;
    std::size_t earlier_cached_ = 0;
};

}  // namespace voltpile::llm
