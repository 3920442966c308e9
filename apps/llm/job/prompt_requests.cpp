#include "llm/job/prompt_requests.h"

#include <fmt/format.h>

#include "base/error.h"
#include "llm/decoder/model_tokenizer.h"

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

PromptRequests::PromptRequests(const ModelSource& model, const RequestSettings& settings)
    : model_(model), settings_(settings), tokenizer_(tokenizer_of(model)) {}

const ChatTemplate& PromptRequests::chat_template() const {
    if (template_) return *template_;
    if (dynamic_cast<const ModelFiles*>(&model_) == nullptr)
        return template_.emplace(ChatTemplate::named("chatml"));
    const std::string& text = model_.config().chat_template;
    if (text.empty()) throw JobError("the model has no chat template, so it takes no \"messages\"");
    template_ = ChatTemplate::recognised(text, "the model");
    return *template_;
}

std::vector<std::int32_t> PromptRequests::tokens_of(const Prompt& prompt) const {
    if (prompt.messages.empty()) return tokenizer_->encode(prompt.text);
    const Vocabulary& vocabulary = tokenizer_->vocabulary();
    const std::string text =
        chat_template().render(prompt.messages, text_of_token(*tokenizer_, vocabulary.bos),
                               text_of_token(*tokenizer_, vocabulary.eos));
    return tokenizer_->encode(text, {.add_special = false}, "conversation");
}

Request PromptRequests::make(const Prompt& prompt, std::int64_t id) const {
    Request request;
    request.id = id;
    request.prompt = tokens_of(prompt);
    if (request.prompt.empty()) throw JobError("the prompt is empty");
    if (std::ssize(request.prompt) + prompt.settings.max_tokens > settings_.context)
        throw JobError(fmt::format("a prompt of {} tokens and max_tokens = {} exceed the context of {}",
                                   request.prompt.size(), prompt.settings.max_tokens, settings_.context));
    request.max_tokens = prompt.settings.max_tokens;
    request.ignore_end = settings_.ignore_end;
    request.continues = true;
    request.sampling = prompt.settings.sampling;
    request.stop = prompt.settings.stop;
    request.top_n = settings_.top_n;
    return request;
}

}  // namespace voltpile::llm
