#include "llm/prompt_job/prompt_tokenizer.h"

#include <fmt/format.h>

#include "base/error.h"
#include "llm/tokenizer/model_tokenizer.h"

namespace voltpile::llm {
namespace {

std::unique_ptr<Tokenizer> tokenizer_of(const ModelSource& model) {
    if (const auto* files = dynamic_cast<const ModelFiles*>(&model))
        return std::make_unique<Tokenizer>(load_tokenizer(*files));
    return std::make_unique<Tokenizer>(synthetic_tokenizer(model.config().vocab));
}

std::string_view text_of_token(const Tokenizer& tokenizer, std::optional<TokenId> id) {
    return id ? tokenizer.bytes_of(*id) : std::string_view();
}

}  // namespace

PromptTokenizer::PromptTokenizer(const ModelSource& model) : model_(model), tokenizer_(tokenizer_of(model)) {}

const ChatTemplate& PromptTokenizer::chat_template() {
    if (template_) return *template_;
    if (dynamic_cast<const ModelFiles*>(&model_) == nullptr)
        return template_.emplace(ChatTemplate::named("chatml"));
    const std::string& text = model_.config().chat_template;
    if (text.empty()) throw JobError("the model has no chat template, so it takes no \"messages\"");
    template_ = ChatTemplate::recognized(text, "the model");
    return *template_;
}

std::vector<std::int32_t> PromptTokenizer::encoded(const Prompt& prompt) {
    if (prompt.messages.empty()) return tokenizer_->encode(prompt.text);
    const Vocabulary& vocabulary = tokenizer_->vocabulary();
    const std::string text =
        chat_template().render(prompt.messages, text_of_token(*tokenizer_, vocabulary.bos),
                               text_of_token(*tokenizer_, vocabulary.eos));
    return tokenizer_->encode(text, {.add_special = false}, "conversation");
}

std::vector<std::int32_t> PromptTokenizer::tokens_of(const Prompt& prompt, int context) {
    std::vector<std::int32_t> tokens = encoded(prompt);
    if (tokens.empty()) throw JobError("the prompt is empty");
    if (std::ssize(tokens) + prompt.settings.max_tokens > context)
        throw JobError(fmt::format("a prompt of {} tokens and max_tokens = {} exceed the context of {}",
                                   tokens.size(), prompt.settings.max_tokens, context));
    return tokens;
}

}  // namespace voltpile::llm
