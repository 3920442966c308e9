// Reads a streamed answer of /v1/completions from bytes as they arrive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace voltpile::llm {

class CompletionStream {
  public:
    // Returns whether the bytes complete an event that has text.
    bool push(std::string_view bytes);

    const std::string& text() const { return text_; }
    bool done() const { return done_; }  // the last event has come
    // What is wrong: the server's own error, or what is not an event of a completion; empty: nothing.
    const std::string& error() const { return error_; }
    std::int64_t prompt_tokens() const { return prompt_tokens_; }
    std::int64_t tokens() const { return tokens_; }  // generated; both as the server reports them at the end

  private:
    bool take_line(std::string_view line);
    bool take_event(std::string_view data);

    std::string line_;  // not yet complete
    std::string text_, error_;
    bool done_ = false;
    std::int64_t prompt_tokens_ = 0, tokens_ = 0;
};

// Returns error.message of an answer in OpenAI's form; else the beginning of the answer.
std::string message_of_error(std::string_view body);

}  // namespace voltpile::llm
