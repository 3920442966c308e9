#include "llm/session/language_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <regex>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "llm/grammar/shown_tokens.h"
#include "llm/grammar/tool_format.h"
#include "llm/model/eagle_head.h"
#include "llm/model/model_family.h"
#include "llm/model/model_files.h"
#include "llm/model/synthetic_model.h"
#include "llm/replica/same_model.h"
#include "llm/tokenizer/model_tokenizer.h"

namespace voltpile::llm {
namespace {

std::unique_ptr<ModelSource> source_of(const ModelChoice& choice) {
    std::unique_ptr<ModelSource> source;
    if (choice.path.empty())
        source = std::make_unique<SyntheticModel>(choice.shape, choice.quant);
    else if (choice.guesses_for != nullptr && is_eagle_head(choice.path))
        source = ModelFiles::eagle_head(choice.path, choice.guesses_for->config());
    else
        source = std::make_unique<ModelFiles>(choice.path, choice.lora.empty() && choice.random_adapters == 0
                                                               ? Columns::Sorted
                                                               : Columns::AsStored);
    ModelSource::Adapters adapters;
    for (const AdapterChoice& each : choice.lora)
        adapters.push_back(std::make_shared<const LoraAdapter>(each, *source));
    for (int i = 0; i < choice.random_adapters; ++i)
        adapters.push_back(LoraAdapter::random(fmt::format("random-{}", i), *source, choice.random_rank));
    source->attach(std::move(adapters));
    return source;
}

std::string_view text_of_token(const Tokenizer& tokenizer, std::optional<TokenId> id) {
    return id ? tokenizer.bytes_of(*id) : std::string_view();
}

// Returns the names of special tokens in a template, like <|im_start|>.
std::vector<std::string> marks_of(const std::string& chat_template) {
    static const std::regex mark(R"(<\|[^\s|'"]+\|>)");
    std::vector<std::string> marks;
    for (std::sregex_iterator at(chat_template.begin(), chat_template.end(), mark), end; at != end; ++at)
        if (std::ranges::find(marks, at->str()) == marks.end()) marks.push_back(at->str());
    return marks;
}

// Whether an answer has thoughts, after a prompt that a template has rendered.
Thoughts thoughts_of(std::string_view prompt, std::string_view chat_template) {
    if (tool_format_of(chat_template) == ToolFormat::Harmony) return Thoughts::Channels;
    const std::string_view end = prompt.substr(0, prompt.find_last_not_of(" \n\r\t") + 1);
    if (end.ends_with(kThinkBegins)) return Thoughts::Open;
    return chat_template.find(kThinkEnds) == std::string_view::npos ? Thoughts::None : Thoughts::Maybe;
}

}  // namespace

LanguageModel::LanguageModel(const ModelChoice& choice) : choice_(choice), source_(source_of(choice)) {}

std::unique_ptr<LanguageModel> LanguageModel::open(const Communicator& world, const ModelChoice& choice) {
    std::unique_ptr<LanguageModel> model;
    all_do(world, [&] { model = std::make_unique<LanguageModel>(choice); });
    return model;
}

std::vector<std::string> LanguageModel::adapter_names() const {
    std::vector<std::string> names;
    for (const auto& adapter : source_->adapters()) names.push_back(adapter->name());
    return names;
}

const ModelSource& LanguageModel::prediction_layers() const {
    const std::lock_guard lock(mutex_);
    if (prediction_layers_) return *prediction_layers_;
    if (config().prediction_layers == 0)
        throw JobError(fmt::format(
            "{} is a {} model without a layer that predicts further tokens, which --speculate mtp "
            "needs and files of GLM 4.5 and DeepSeek V3 may have; --speculate ngram and --draft "
            "MODEL guess for any model",
            name(), config().family->name));
    prediction_layers_ = source_->prediction_layers();
    return *prediction_layers_;
}

std::string LanguageModel::name() const {
    if (!choice_.path.empty()) return choice_.path;
    return fmt::format("{} {}, synthetic weights", choice_.shape, choice_.quant);
}

const Tokenizer& LanguageModel::tokenizer() const {
    const std::lock_guard lock(mutex_);
    if (tokenizer_) return *tokenizer_;
    if (const auto* files = dynamic_cast<const ModelFiles*>(source_.get()))
        tokenizer_ = std::make_unique<Tokenizer>(load_tokenizer(*files));
    else
        tokenizer_ = std::make_unique<Tokenizer>(synthetic_tokenizer(config().vocab));
    return *tokenizer_;
}

bool LanguageModel::has_chat_template() const {
    return !choice_.chat_template.empty() || choice_.path.empty() || !config().chat_template.empty();
}

const ChatTemplate& LanguageModel::chat_template() const {
    const std::lock_guard lock(mutex_);
    if (template_) return *template_;
    if (!choice_.chat_template.empty()) return template_.emplace(ChatTemplate::named(choice_.chat_template));
    if (choice_.path.empty()) return template_.emplace(ChatTemplate::named("chatml"));
    const std::string& text = config().chat_template;
    if (text.empty()) throw JobError("the model has no chat template, so it takes no \"messages\"");
    return template_.emplace(ChatTemplate::of_model(text, choice_.path));
}

std::string LanguageModel::template_problem() const {
    if (choice_.chat_template.empty()) return {};
    std::vector<std::string> missing;
    for (const std::string& mark : marks_of(chat_template().source()))
        if (special_tokens_named(tokenizer(), std::array{std::string_view(mark)}).empty())
            missing.push_back(mark);
    if (missing.empty()) return {};
    return fmt::format("the template {} does not fit the model: the vocabulary of {} lacks {}",
                       choice_.chat_template, name(), fmt::join(missing, ", "));
}

ChatPrompt LanguageModel::encode(std::span<const ChatMessage> messages, const ChatOptions& options) const {
    const Tokenizer& tokenizer = this->tokenizer();
    const Vocabulary& vocabulary = tokenizer.vocabulary();
    const ChatTemplate& chat_template = this->chat_template();
    const std::string text = chat_template.render(messages, text_of_token(tokenizer, vocabulary.bos),
                                                  text_of_token(tokenizer, vocabulary.eos), options);
    return {tokenizer.encode(text, {.add_special = false}, "conversation"),
            thoughts_of(text, chat_template.source())};
}

}  // namespace voltpile::llm
