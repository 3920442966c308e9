#include "cli/generated_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace voltpile::cli {
namespace {

double per_second(std::size_t tokens, double seconds) {
    return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
}

// The first token is computed by prefill and does not count; a token that ends the text does.
double generation_rate(const llm::Outcome& generated) {
    const std::size_t drawn = generated.tokens.size() + (generated.finish == llm::Finish::End ? 1 : 0);
    return per_second(drawn - 1, generated.generation_seconds);
}

const char* name(llm::Finish finish) {
    switch (finish) {
        case llm::Finish::End:
            return "end";
        case llm::Finish::Length:
            return "length";
        case llm::Finish::Context:
            return "context";
        default:
            return "stopped";
    }
}

}  // namespace

nlohmann::json generated_json(const llm::Outcome& generated, const std::string& text,
                              std::size_t prompt_tokens) {
    nlohmann::json json{{"text", text},
                        {"tokens", generated.tokens},
                        {"log_probabilities", generated.log_probability},
                        {"finish_reason", name(generated.finish)},
                        {"prompt_tokens", prompt_tokens},
                        {"prompt_seconds", generated.prompt_seconds},
                        {"generation_seconds", generated.generation_seconds},
                        {"prompt_tokens_per_second", per_second(prompt_tokens, generated.prompt_seconds)},
                        {"tokens_per_second", generation_rate(generated)},
                        {"steps", generated.steps},
                        {"drafted_tokens", generated.drafted_tokens},
                        {"right_tokens", generated.right_tokens}};
    for (const llm::TopTokens& each : generated.top) {
        json["top_tokens"].push_back(each.token);
        json["top_log_probabilities"].push_back(each.log_probability);
    }
    return json;
}

std::string rates_text(const llm::Outcome& generated, std::size_t prompt_tokens) {
    std::string text = fmt::format("prompt {} tokens, {:.0f} tok/s; generated {} tokens, {:.1f} tok/s",
                                   prompt_tokens, per_second(prompt_tokens, generated.prompt_seconds),
                                   generated.tokens.size(), generation_rate(generated));
    if (generated.drafted_tokens > 0)
        text += fmt::format("; {:.2f} tokens in a step, {} of {} guesses right",
                            static_cast<double>(generated.steps + generated.right_tokens) / generated.steps,
                            generated.right_tokens, generated.drafted_tokens);
    return text;
}

std::string context_full_text(std::string_view what, int context) {
    return fmt::format("the {} ends here because the context of {} tokens is full", what, context);
}

}  // namespace voltpile::cli
