// From what a line asks to the tokens that the model is given.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "llm/prompt_job/prompt.h"
#include "llm/model/model_source.h"
#include "llm/tokenizer/tokenizer.h"

namespace voltpile::llm {

class PromptTokenizer {
  public:
    // The model's own tokenizer and chat template; a synthetic model has one of bytes. `model` outlives it.
    // Throws JobError, FileError for models without a tokenizer.
    explicit PromptTokenizer(const ModelSource& model);

    const Tokenizer& tokenizer() const { return *tokenizer_; }

    // context: tokens of a text, prompt included. Throws JobError for a prompt that is empty or no UTF-8,
    // whose messages the model's template does not take (or if it has none), or that with what it asks for
    // exceeds the context.
    std::vector<std::int32_t> tokens_of(const Prompt& prompt, int context);

  private:
    std::vector<std::int32_t> encoded(const Prompt& prompt);
    const ChatTemplate& chat_template();

    const ModelSource& model_;
    std::unique_ptr<Tokenizer> tokenizer_;
    std::optional<ChatTemplate> template_;  // once a prompt has needed it
};

}  // namespace voltpile::llm
