// From a prompt to what the engine is asked.
#pragma once

#include <memory>
#include <optional>

#include "llm/engine/request.h"
#include "llm/job/prompt.h"
#include "llm/model/model_source.h"
#include "llm/tokenizer/tokenizer.h"

namespace voltpile::llm {

// The same of all prompts.
struct RequestSettings {
    int context = 0;          // tokens of a text, prompt included
    bool ignore_end = false;  // as in Request
    int top_n = 0;
};

class PromptRequests {
  public:
    // The model's own tokenizer and chat template; a synthetic model has one of bytes. `model` outlives it.
    // Throws JobError, FileError for models without a tokenizer.
    PromptRequests(const ModelSource& model, const RequestSettings& settings);

    const Tokenizer& tokenizer() const { return *tokenizer_; }

    // Throws JobError for a prompt that is no UTF-8, whose messages the model's template does not take (or if
    // it has none), or that with what it asks for exceeds the context.
    Request make(const Prompt& prompt, std::int64_t id) const;

  private:
    std::vector<std::int32_t> tokens_of(const Prompt& prompt) const;
    const ChatTemplate& chat_template() const;

    const ModelSource& model_;
    RequestSettings settings_;
    std::unique_ptr<Tokenizer> tokenizer_;
    mutable std::optional<ChatTemplate> template_;  // once a prompt has needed it
};

}  // namespace voltpile::llm
