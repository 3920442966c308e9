#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "llm/decoder/generate.h"
#include "llm/decoder/model_tokenizer.h"
#include "llm/ops/cpu_ops.h"
#include "llm/tokenizer/stream_decoder.h"

namespace voltpile::cli {
namespace {

struct GenerateArguments {
    std::string model;
    std::string prompt;
    int context = 0;
    bool json = false;
    llm::GenerateSettings settings;
};

// What this process may run on.
std::vector<int> usable_pus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return {-1};
    std::vector<int> pus;
    for (int pu = 0; pu < CPU_SETSIZE; ++pu) {
        if (CPU_ISSET(static_cast<std::size_t>(pu), &set)) pus.push_back(pu);
    }
    return pus;
}

double per_second(std::size_t tokens, double seconds) {
    return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
}

void print_json(const llm::Generated& generated, const llm::Tokenizer& tokenizer, std::size_t prompt_tokens) {
    const std::size_t after_first =
        generated.tokens.size() - (generated.ended || generated.tokens.empty() ? 0 : 1);
    const nlohmann::json out{
        {"text", tokenizer.decode(generated.tokens)},
        {"tokens", generated.tokens},
        {"log_probabilities", generated.log_probability},
        {"finish_reason", generated.ended ? "end" : "length"},
        {"prompt_tokens", prompt_tokens},
        {"prompt_seconds", generated.prompt_seconds},
        {"generation_seconds", generated.generation_seconds},
        {"prompt_tokens_per_second", per_second(prompt_tokens, generated.prompt_seconds)},
        {"tokens_per_second", per_second(after_first, generated.generation_seconds)}};
    fmt::print("{}\n", out.dump());
}

ExitCode generate_text(const GenerateArguments& args) {
    const llm::ModelFiles model(args.model);
    const llm::Tokenizer tokenizer = llm::load_tokenizer(model);
    const auto prompt = tokenizer.encode(args.prompt);
    if (prompt.empty()) throw JobError("the prompt is empty");
    const auto wanted = static_cast<std::int64_t>(prompt.size()) + args.settings.max_tokens;
    const std::int64_t most = args.context > 0 ? args.context : model.config().context;
    const int room = static_cast<int>(std::min(wanted, most));

    llm::CpuOps ops(usable_pus());
    llm::NoLinks links;
    llm::Decoder decoder(model, ops, links, llm::single_text_settings(model.config(), room));
    llm::StreamDecoder text(tokenizer, true, true);
    if (!args.json) fmt::print("{}", args.prompt);
    const auto generated =
        llm::generate(decoder, ops, model.config(), room, prompt, args.settings, [&](std::int32_t token) {
            if (!args.json) {
                fmt::print("{}", text.push(token));
                std::fflush(stdout);
            }
            return true;
        });
    if (args.json) {
        print_json(generated, tokenizer, prompt.size());
        return ExitCode::Done;
    }
    fmt::print("{}\n", text.flush());
    const std::size_t after_first =
        generated.tokens.size() - (generated.ended || generated.tokens.empty() ? 0 : 1);
    fmt::print(stderr, "prompt {} tokens, {:.0f} tok/s; generated {} tokens, {:.1f} tok/s ({})\n",
               prompt.size(), per_second(prompt.size(), generated.prompt_seconds), generated.tokens.size(),
               per_second(after_first, generated.generation_seconds), ops.describe());
    return ExitCode::Done;
}

}  // namespace

void add_generate(CLI::App& cli, Action& action) {
    CLI::App* generate = cli.add_subcommand("generate", "continue a text with a language model");
    auto args = std::make_shared<GenerateArguments>();
    llm::SamplingSettings& sampling = args->settings.sampling;
    generate->add_option("MODEL", args->model, "a .gguf, or a Hugging Face folder with safetensors")
        ->required();
    generate->add_option("TEXT", args->prompt, "what is to be continued")->required();
    generate->add_option("-n,--max-tokens", args->settings.max_tokens, "at most so many more tokens")
        ->check(CLI::Range(1, 1 << 24))
        ->capture_default_str();
    generate->add_option("--context", args->context, "room for prompt and text [what the model was made for]")
        ->check(CLI::Range(2, 1 << 24));
    generate->add_option("--temperature", sampling.temperature, "0: always the most probable token")
        ->check(CLI::Range(0.0, 100.0))
        ->capture_default_str();
    generate->add_option("--top-k", sampling.top_k, "draw from so many tokens; 0: from all")
        ->check(CLI::Range(0, 1 << 24))
        ->capture_default_str();
    generate
        ->add_option("--top-p", sampling.top_p, "draw from the fewest tokens with this share of probability")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    generate
        ->add_option("--min-p", sampling.min_p,
                     "draw from tokens above this share of the first's probability")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    generate->add_option("--repetition-penalty", sampling.repetition_penalty)
        ->check(CLI::Range(0.01, 100.0))
        ->capture_default_str();
    generate->add_option("--presence-penalty", sampling.presence_penalty)
        ->check(CLI::Range(-100.0, 100.0))
        ->capture_default_str();
    generate->add_option("--frequency-penalty", sampling.frequency_penalty)
        ->check(CLI::Range(-100.0, 100.0))
        ->capture_default_str();
    generate->add_option("--seed", sampling.seed, "of the draws")->capture_default_str();
    generate->add_flag("--ignore-end", args->settings.ignore_end, "go on after a token that ends a text");
    generate->add_flag("--json", args->json, "print text, tokens, log-probabilities and rates as JSON");
    generate->callback([args, &action] {
        action = on_first_rank([args](const Invocation&) { return generate_text(*args); });
    });
}

}  // namespace voltpile::cli
