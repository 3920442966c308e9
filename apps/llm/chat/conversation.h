// The turns of a chat as tokens: what the model has seen stays as it was, so that its cache serves.
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

    // The next question, UTF-8. Returns the conversation up to where the answer begins, which is never empty.
    // Throws JobError, and nothing has changed, if it is not UTF-8.
    const std::vector<TokenId>& ask(std::string question);

    // Instead of answered(): the question has never been asked.
    void withdraw();

    // The model's tokens, without one that ends the answer. Returns the answer's text.
    std::string answered(std::span<const TokenId> answer);

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
    // Before the last question, for withdraw().
    std::string earlier_text_;
    std::vector<TokenId> earlier_tokens_;
};

}  // namespace voltpile::llm
