#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.h"
#include "cli/generated_text.h"
#include "cli/launcher.h"
#include "cli/replica_options.h"
#include "cli/sampling_options.h"
#include "llm/decoder/generate.h"
#include "llm/decoder/model_tokenizer.h"
#include "llm/run/replica.h"
#include "llm/run/same_model.h"
#include "llm/tokenizer/stream_decoder.h"
#include "run/agreement.h"

namespace voltpile::cli {
namespace {

struct GenerateArguments {
    std::string model;
    std::string prompt;
    bool json = false;
    llm::GenerateSettings settings;
    llm::ReplicaRequest replica;
};

// On every rank of the replica; its leader prints.
void continue_text(llm::Replica& replica, const llm::ModelFiles& model, std::span<const std::int32_t> prompt,
                   const GenerateArguments& args) {
    std::optional<llm::Tokenizer> tokenizer;
    std::optional<llm::StreamDecoder> text;
    if (replica.leads()) {
        tokenizer.emplace(llm::load_tokenizer(model));
        text.emplace(*tokenizer, true, true);
        if (!args.json) fmt::print("{}", args.prompt);
    }
    const llm::Step step = [&](const llm::Batch& batch, std::span<const llm::SamplingRow> sampling) {
        return replica.step(batch, sampling);
    };
    const bool shown = replica.leads() && !args.json;
    const auto end_line = [&] {
        if (!shown) return;
        fmt::print("{}\n", text->flush());
        settle_stdout();
    };
    llm::Generated generated;
    try {
        generated = llm::generate(step, model.config(), args.replica.context, prompt, args.settings,
                                  [&](std::int32_t token) {
                                      if (!shown) return true;
                                      fmt::print("{}", text->push(token));
                                      std::fflush(stdout);
                                      return true;
                                  });
    } catch (...) {
        end_line();  // the message has a line of its own
        throw;
    }
    end_line();
    if (!replica.leads()) return;
    if (args.json) {
        fmt::print("{}\n",
                   generated_json(generated, tokenizer->decode(generated.tokens), prompt.size()).dump());
        return;
    }
    fmt::print(stderr, "{} ({})\n", rates_text(generated, prompt.size()), replica.describe());
    if (generated.finish == llm::Finish::Context)
        fmt::print(stderr, "{}\n", context_full_text("text", args.replica.context));
}

ExitCode generate_text(const MpiSession& session, GenerateArguments args) {
    if (args.prompt.empty()) throw AgreedError(ExitCode::BadInput, "the prompt is empty");
    const auto model = llm::open_model(session.world(), args.model);
    const std::int64_t most = args.replica.context > 0 ? args.replica.context : model->config().context;
    const auto room_for = [&](std::size_t prompt) {
        return static_cast<int>(std::min(static_cast<std::int64_t>(prompt) + args.settings.max_tokens, most));
    };
    const auto prompt = nlohmann::json::parse(decide_on_root(session.world(), [&] {
                            const auto tokens = llm::load_tokenizer(*model).encode(args.prompt);
                            llm::check_prompt(tokens, room_for(tokens.size()));
                            return nlohmann::json(tokens).dump();
                        })).get<std::vector<std::int32_t>>();
    args.replica.context = room_for(prompt.size());
    args.replica.rows = llm::single_text_limits(args.replica.context).rows;
    llm::with_replica(session, *model, args.replica,
                      [&](llm::Replica& replica) { continue_text(replica, *model, prompt, args); });
    return ExitCode::Done;
}

}  // namespace

void add_generate(CLI::App& cli, Action& action) {
    CLI::App* generate = cli.add_subcommand("generate", "continue a text with a language model");
    generate->footer(
        "examples:\n"
        "  voltpile generate model.gguf \"And it came to pass\" --max-tokens 60\n"
        "  mpirun -np 4 voltpile generate model.gguf \"And it came to pass\" --temperature 0.8 --seed 7\n\n"
        "docs/models.md says how a model is cut over the ranks.");
    auto args = std::make_shared<GenerateArguments>();
    add_model_option(*generate, args->model)->required();
    generate->add_option("TEXT", args->prompt, "what is to be continued")->required();
    generate->add_option("-n,--max-tokens", args->settings.max_tokens, "at most so many more tokens")
        ->check(CLI::Range(1, 1 << 24))
        ->capture_default_str();
    add_replica_options(*generate, args->replica);
    add_sampling_options(*generate, args->settings.sampling);
    generate->add_flag("--ignore-end", args->settings.ignore_end, "go on after a token that ends a text");
    generate->add_flag("--json", args->json, "print text, tokens, log-probabilities and rates as JSON");
    generate->callback([args, &action] {
        action = [args](const Invocation& invocation) {
            return with_mpi(invocation,
                            [&](const MpiSession& session) { return generate_text(session, *args); });
        };
    });
}

}  // namespace voltpile::cli
