#include "llm/prompt_job/prompt_tokens.h"

#include <fmt/format.h>

#include "base/error.h"
#include "llm/engine/engine.h"

namespace voltpile::llm {

// Returns the tokens of the messages, and sets whether the answer has channels.
std::vector<std::int32_t> encode_messages(Prompt& prompt, const LanguageModel& model) {
    ChatPrompt encoded = model.encode(prompt.messages);
    RequestSettings& settings = prompt.settings;
    settings.channels = encoded.thoughts == Thoughts::Channels;
    if (settings.grammar) settings.grammar->in_channels = settings.channels;
    return std::move(encoded.tokens);
}

std::vector<std::int32_t> tokens_of(Prompt& prompt, const LanguageModel& model, int context) {
    std::vector<std::int32_t> tokens =
        prompt.messages.empty() ? model.tokenizer().encode(prompt.text) : encode_messages(prompt, model);
    if (tokens.empty()) throw JobError("the prompt is empty");
    if (std::ssize(tokens) + prompt.settings.max_tokens > context)
        throw JobError(fmt::format("a prompt of {} tokens and max_tokens = {} exceed the context of {}",
                                   tokens.size(), prompt.settings.max_tokens, context));
    check_known_tokens(tokens, prompt.settings, model.config().vocab);
    adapter_index(prompt.settings.lora, model.adapter_names());
    return tokens;
}

void add_tokens(JobPrompts& all, const LanguageModel& model, int context) {
    model.tokenizer();  // before the prompts, because its errors are not theirs
    std::int64_t usable = 0;
    for (Prompt& prompt : all.prompts) {
        if (!prompt.error.empty()) continue;
        try {
            prompt.tokens = tokens_of(prompt, model, context);
            prompt.tokens.shrink_to_fit();  // there may be millions of prompts
            all.mean_prompt_tokens += static_cast<double>(prompt.tokens.size());
            ++usable;
        } catch (const JobError& error) {
            prompt.error = error.what();
        }
        prompt.messages.clear();
        prompt.messages.shrink_to_fit();
    }
    if (usable > 0) all.mean_prompt_tokens /= static_cast<double>(usable);
}

}  // namespace voltpile::llm
