#include "llm/chat/conversation.h"

#include <algorithm>
#include <utility>

#include "llm/tokenizer/stream_decoder.h"
#include "llm/tokenizer/utf8.h"

namespace voltpile::llm {
namespace {

std::string text_of(const Tokenizer& tokenizer, const std::optional<TokenId>& token) {
    return token ? std::string(tokenizer.bytes_of(*token)) : std::string();
}

}  // namespace

Conversation::Conversation(const Tokenizer& tokenizer, ChatTemplate chat_template, std::string system)
    : tokenizer_(tokenizer),
      template_(std::move(chat_template)),
      bos_(text_of(tokenizer, tokenizer.vocabulary().bos)),
      eos_(text_of(tokenizer, tokenizer.vocabulary().eos)) {
    check_utf8(system, "--system");
    if (!system.empty()) opening_.push_back({ChatRole::System, std::move(system)});
    messages_ = opening_;
    ask("?");
    withdraw();
}

// Adds no special tokens, because the template writes those that the model needs.
std::vector<TokenId> Conversation::tokens_of(const std::string& text, bool continues) const {
    const EncodeOptions options{.add_special = false, .parse_special = true, .continues = continues};
    return tokenizer_.encode(text, options, "message");
}

const std::vector<TokenId>& Conversation::ask(std::string question) {
    check_utf8(question, "message");  // here, so that the byte number is one of the question
    messages_.push_back({ChatRole::User, std::move(question)});
    std::string text;
    std::vector<TokenId> tokens;
    try {
        text = template_.render(messages_, bos_, eos_);
        tokens = tokens_of(text, false);
        // The tokenizer may encode an answer's text as other tokens than the model drew. If the template only
        // appends to the text, keep the tokens that the model drew.
        const bool as_drawn = std::ranges::mismatch(tokens_, tokens).in1 == tokens_.end();
        if (!as_drawn && text.starts_with(text_)) {
            const auto more = tokens_of(text.substr(text_.size()), true);
            tokens = tokens_;
            tokens.insert(tokens.end(), more.begin(), more.end());
        }
    } catch (...) {
        messages_.pop_back();
        throw;
    }
    earlier_text_ = std::exchange(text_, std::move(text));
    earlier_tokens_ = std::exchange(tokens_, std::move(tokens));
    return tokens_;
}

void Conversation::withdraw() {
    messages_.pop_back();
    text_ = earlier_text_;
    tokens_ = earlier_tokens_;
}

std::string Conversation::answered(std::span<const TokenId> answer) {
    StreamDecoder decoder(tokenizer_, true, true);
    std::string text;
    for (const TokenId token : answer) text += decoder.push(token);
    text += decoder.flush();
    text_ += text;
    answered(answer, {ChatRole::Assistant, text});
    return text;
}

void Conversation::answered(std::span<const TokenId> answer, ChatMessage message) {
    messages_.push_back(std::move(message));
    tokens_.insert(tokens_.end(), answer.begin(), answer.end());
}

void Conversation::clear() {
    messages_ = opening_;
    text_.clear();
    tokens_.clear();
}

}  // namespace voltpile::llm
