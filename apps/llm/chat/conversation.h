// A chat as tokens. Tokens that the model has seen never change, so that its KV cache can be reused.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "llm/chat/chat_template.h"
#include "llm/tokenizer/tokenizer.h"

namespace voltpile::llm {

class Conversation {
  public:
    // system: the system message; empty for none. The tokenizer must outlive this object. Throws JobError if
    // the template refuses it.
    Conversation(const Tokenizer& tokenizer, ChatTemplate chat_template, std::string system);

    // Adds a question in UTF-8. Returns the tokens of the conversation up to the beginning of the answer, at
    // least one. Throws JobError and changes nothing if the question is not UTF-8.
    const std::vector<TokenId>& ask(std::string question);

    // Removes the last question. Call it instead of answered().
    void withdraw();

    // Adds an answer: the model's tokens, without an end token. Returns the text of the answer.
    std::string answered(std::span<const TokenId> answer);
    // The same for a message that the caller has read from the tokens.
    void answered(std::span<const TokenId> answer, ChatMessage message);

    void clear();  // removes everything except the system message

  private:
    std::vector<TokenId> tokens_of(const std::string& text, bool continues) const;

    const Tokenizer& tokenizer_;
    ChatTemplate template_;
    std::string bos_, eos_;
    std::vector<ChatMessage> opening_;   // the system message, if there is one
    std::vector<ChatMessage> messages_;  // including the last question
    std::string text_;                   // rendered by the template, up to the last question or answer
    std::vector<TokenId> tokens_;        // of text_, as the model read or drew them
    // text_ and tokens_ before the last question, for withdraw().
    std::string earlier_text_;
    std::vector<TokenId> earlier_tokens_;
};

}  // namespace voltpile::llm
