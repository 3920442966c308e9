#include "cli/generated_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

namespace voltpile::cli {
namespace {

std::string tokens_text(std::size_t tokens) {
    return fmt::format("{} token{}", tokens, tokens == 1 ? "" : "s");
}

double per_second(std::size_t tokens, double seconds) {
    return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
}

// The first token is computed by prefill and does not count; a token that ends the text does. nullopt for
// fewer than two tokens.
std::optional<double> generation_rate(const llm::Outcome& generated) {
    const std::size_t drawn = generated.tokens.size() + (generated.finish == llm::Finish::End ? 1 : 0);
    if (drawn < 2) return std::nullopt;
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
            return "stop";
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
                        {"tokens_per_second", nullptr},
                        {"steps", generated.steps},
                        {"drafted_tokens", generated.drafted_tokens},
                        {"right_tokens", generated.right_tokens}};
    if (const auto rate = generation_rate(generated)) json["tokens_per_second"] = *rate;
    for (const llm::TopTokens& each : generated.top) {
        json["top_tokens"].push_back(each.token);
        json["top_log_probabilities"].push_back(each.log_probability);
    }
    return json;
}

std::string rates_text(const llm::Outcome& generated, std::size_t prompt_tokens) {
    std::string text = fmt::format("prompt {}, {:.0f} tok/s; generated {}", tokens_text(prompt_tokens),
                                   per_second(prompt_tokens, generated.prompt_seconds),
                                   tokens_text(generated.tokens.size()));
    if (const auto rate = generation_rate(generated)) text += fmt::format(", {:.1f} tok/s", *rate);
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
