// A model as commands, jobs and servers use it: its files, or random weights, with the tokenizer and the chat
// template that belong to them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/mpi/communicator.h"
#include "llm/chat/chat_template.h"
#include "llm/grammar/thought_reader.h"
#include "llm/model/lora/lora_adapter.h"
#include "llm/model/model_source.h"
#include "llm/tokenizer/tokenizer.h"

namespace voltpile::llm {

struct ModelChoice {
    std::string path{};                 // a GGUF file or a Hugging Face folder; empty: random weights
    std::string shape{};                // of random weights, see synthetic_shapes.h
    std::string quant = "q8_0";         // of random weights
    std::string chat_template{};        // the name of a template; empty: the model's own
    std::vector<AdapterChoice> lora{};  // adapters that requests can choose
    int random_adapters = 0;            // further ones with random factors, of this rank
    int random_rank = 0;
    // The model whose EAGLE 3 head the path may be; nullptr: the path is a model.
    const ModelSource* guesses_for = nullptr;
};

// A conversation up to the beginning of the answer.
struct ChatPrompt {
    std::vector<TokenId> tokens;
    Thoughts thoughts = Thoughts::None;  // of the answer
};

class LanguageModel {
  public:
    // Opens the model on this process alone. Throws JobError or FileError.
    explicit LanguageModel(const ModelChoice& choice);

    // Opens the model on all ranks, each through its own file system. Collective. Throws AgreedError, which
    // names the first rank that failed and its host if only some ranks failed.
    static std::unique_ptr<LanguageModel> open(const Communicator& world, const ModelChoice& choice);

    const ModelSource& source() const { return *source_; }
    const ModelConfig& config() const { return source_->config(); }
    std::vector<std::string> adapter_names() const;
    // Opens the prediction layers at the first call, on this process alone. Throws JobError for a model
    // without any, and FileError if their tensors are not complete.
    const ModelSource& prediction_layers() const;
    std::string name() const;  // the path, or "llama-3-8b q8_0, synthetic weights"

    // The methods below may be called from any thread. The first call loads; if that fails, so do later ones.

    // The model's tokenizer; random weights have one of single bytes. Throws JobError or FileError if the
    // model has no usable one.
    const Tokenizer& tokenizer() const;

    bool has_chat_template() const;
    // The chosen template, or the model's own; random weights have ChatML. Throws JobError if there is none,
    // or if it is not supported.
    const ChatTemplate& chat_template() const;
    // Returns which special tokens of the chosen template, of those like <|im_start|>, the vocabulary lacks,
    // as a sentence; "" if it has all, or if the template is the model's own.
    std::string template_problem() const;

    // Throws JobError for messages that are not UTF-8 or that the template does not take.
    ChatPrompt encode(std::span<const ChatMessage> messages, const ChatOptions& options = {}) const;

  private:
    ModelChoice choice_;
    std::unique_ptr<ModelSource> source_;
    mutable std::mutex mutex_;  // of what follows
    mutable std::unique_ptr<ModelSource> prediction_layers_;
    mutable std::unique_ptr<Tokenizer> tokenizer_;
    mutable std::optional<ChatTemplate> template_;
};

}  // namespace voltpile::llm
