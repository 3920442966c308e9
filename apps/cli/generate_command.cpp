#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/standard_streams.h"
#include "cli/command.h"
#include "cli/generated_text.h"
#include "cli/grammar_options.h"
#include "cli/lora_options.h"
#include "cli/process_rank.h"
#include "cli/replica_options.h"
#include "cli/request_options.h"
#include "llm/engine/request_fields.h"
#include "llm/session/draft_model.h"
#include "llm/session/session.h"
#include "llm/session/text_stream.h"
#include "run/agreement.h"

namespace voltpile::cli {
namespace {

struct GenerateArguments {
    std::string model;
    std::string draft;
    std::string prompt;
    bool json = false;
    llm::Request request;
    GrammarOptions grammar;
    llm::ReplicaRequest replica;
    std::vector<llm::AdapterChoice> lora;
    std::string adapter;

    GenerateArguments() { request.max_tokens = llm::kUsualNewTokens; }
};

// Prints the continuation as it is generated. The leader of the replica calls this.
void continue_text(llm::Engine& engine, const std::string& where, const GenerateArguments& args) {
    if (!args.json) fmt::print("{}", args.prompt);
    const auto end_line = [&] {
        if (args.json) return;
        fmt::print("\n");
        settle_stdout();
    };
    const auto show = [&](const llm::Delta& delta) {
        if (args.json) return true;
        fmt::print("{}", delta.text);
        std::fflush(stdout);
        return true;
    };
    llm::Request request = args.request;
    request.continues = !args.json;  // the text of JSON stands alone
    llm::Outcome generated;
    try {
        generated = llm::TextStream(engine, args.replica.context).write(std::move(request), show);
    } catch (...) {
        end_line();  // so that the error message starts on a new line
        throw;
    }
    end_line();
    const std::size_t prompt = args.request.prompt.size();
    if (args.json) {
        fmt::print("{}\n", generated_json(generated, generated.text, prompt).dump());
        return;
    }
    print_error(fmt::format("{} ({})", rates_text(generated, prompt), where));
    if (generated.finish == llm::Finish::Context)
        print_error(context_full_text("text", args.replica.context));
    if (generated.finish == llm::Finish::Length && args.request.grammar)
        print_error("the text ends here because of --max-tokens, and may not be complete");
}

ExitCode generate_text(const MpiSession& mpi, GenerateArguments args) {
    if (args.prompt.empty()) throw_agreed(ExitCode::BadInput, "the prompt is empty");
    args.request.lora = agreed([&] { return chosen_adapter(args.lora, args.adapter); });
    const auto model = llm::LanguageModel::open(mpi.world(), {.path = args.model, .lora = args.lora});
    const std::int64_t most = args.replica.context > 0 ? args.replica.context : model->config().context;
    const auto room_for = [&](std::size_t prompt) {
        return static_cast<int>(std::min(static_cast<std::int64_t>(prompt) + args.request.max_tokens, most));
    };
    const auto decided = nlohmann::json::parse(decide_on_root(mpi.world(), [&] {
        const auto tokens = model->tokenizer().encode(args.prompt);
        llm::check_prompt(tokens.size(), room_for(tokens.size()));
        llm::check_known_tokens(tokens, args.request, model->config().vocab);
        nlohmann::json decision{{"prompt", tokens}};
        if (const auto grammar = grammar_source(args.grammar)) {
            llm::check_grammar(*grammar);
            decision["kind"] = static_cast<int>(grammar->kind);
            decision["grammar"] = grammar->text;
        }
        return decision.dump();
    }));
    args.request.prompt = decided["prompt"].get<std::vector<std::int32_t>>();
    if (decided.contains("grammar"))
        args.request.grammar = llm::GrammarSource{
            static_cast<llm::GrammarSource::Kind>(decided["kind"].get<int>()), decided["grammar"]};
    args.replica.context = room_for(args.request.prompt.size());
    std::unique_ptr<llm::LanguageModel> draft;
    if (!args.draft.empty())
        draft = llm::open_draft(&mpi.world(), {.path = args.draft}, *model, args.replica);
    llm::open_prediction_layers(&mpi.world(), *model, args.replica);
    llm::ReplicaPlan plan = llm::agreed_plan(mpi, model->source(), args.replica);
    llm::with_session(mpi, *model, std::move(plan), [&](llm::Session& session) {
        session.answer(
            {}, [&](llm::Engine& engine) { continue_text(engine, session.replica().describe(), args); });
    });
    return ExitCode::Done;
}

}  // namespace

void add_generate(CLI::App& cli, Action& action) {
    CLI::App* generate = cli.add_subcommand("generate", "continue a text with a language model");
    generate->footer(
        "examples:\n"
        "  voltpile generate model.gguf \"And it came to pass\" --max-tokens 60\n"
        "  mpirun -np 4 voltpile generate model.gguf \"And it came to pass\" --temperature 0.8 --seed 7\n"
        "  voltpile generate model.gguf \"A person as JSON: \" --json-schema person.json\n\n"
        "docs/models.md describes how a model is split over the ranks.");
    auto args = std::make_shared<GenerateArguments>();
    add_model_option(*generate, args->model)->required();
    generate->add_option("TEXT", args->prompt, "the prompt")->required();
    add_replica_options(*generate, args->replica);
    add_speculate_options(*generate, args->replica, args->draft);
    add_lora_options(*generate, args->lora, args->adapter);
    add_request_options(*generate, args->request);
    add_grammar_options(*generate, args->grammar);
    CLI::Option* const json =
        generate->add_flag("--json", args->json, "print text, tokens, log probabilities and rates as JSON");
    generate->get_option("--top-n")->needs(json);
    generate->callback([args, &action] {
        action = [args](const Invocation& invocation) {
            return with_mpi(invocation, [&](const MpiSession& mpi) { return generate_text(mpi, *args); });
        };
    });
}

}  // namespace voltpile::cli
