// Turns prompts into tokens for the model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "llm/model/model_source.h"
#include "llm/prompt_job/prompt.h"
#include "llm/tokenizer/tokenizer.h"

namespace voltpile::llm {

class PromptTokenizer {
  public:
    // Loads the model's tokenizer; a synthetic model has one of single bytes. model: must outlive this
    // object. Throws JobError or FileError if the model has no usable tokenizer.
    explicit PromptTokenizer(const ModelSource& model);

    const Tokenizer& tokenizer() const { return *tokenizer_; }

    // Returns the tokens of a prompt. context: the most tokens of a sequence, including the prompt. Throws
    // JobError for a prompt that is empty or not UTF-8, for messages that the model's chat template does not
    // take, and for a prompt that exceeds the context together with its max_tokens.
    std::vector<std::int32_t> tokens_of(const Prompt& prompt, int context);

  private:
    std::vector<std::int32_t> encoded(const Prompt& prompt);
    const ChatTemplate& chat_template();

    const ModelSource& model_;
    std::unique_ptr<Tokenizer> tokenizer_;
    std::optional<ChatTemplate> template_;  // set when a prompt first needs it
};

}  // namespace voltpile::llm
