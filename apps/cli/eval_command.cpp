#include "cli/eval_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/command.h"
#include "cli/replica_options.h"
#include "llm/eval/eval_replicas.h"
#include "llm/eval/evaluation.h"
#include "llm/eval/same_tokens.h"
#include "llm/session/language_model.h"
#include "run/agreement.h"

namespace voltpile::cli {
namespace {

constexpr int usual_window = 2048;  // tokens

std::string name_of(const std::string& path) {
    return path == "-" ? "stdin" : path;
}

struct CutText {
    std::vector<std::int32_t> tokens;
    std::vector<llm::EvalWindow> windows;  // views of them
};

CutText cut_text(const std::string& text, const llm::LanguageModel& model,
                 const llm::LanguageModel* reference, const EvalArguments& args) {
    const llm::Tokenizer& tokenizer = model.tokenizer();
    // The name of a special token in the text ("<|end_of_text|>") is text.
    const llm::EncodeOptions plain{.add_special = false, .parse_special = false};
    CutText result;
    result.tokens = tokenizer.encode(text, plain, name_of(args.text));
    if (reference != nullptr)
        llm::check_same_tokens({tokenizer, args.model, model.config().vocab},
                               {reference->tokenizer(), args.reference, reference->config().vocab},
                               result.tokens, text);
    llm::EvalCut cut;
    cut.method = args.second_halves ? llm::EvalMethod::SecondHalves : llm::EvalMethod::Strided;
    cut.window = args.replica.context;
    cut.stride = args.stride;
    const auto& prefix = tokenizer.vocabulary().prefix;
    if (!args.no_begin_token && !prefix.empty()) cut.begin_token = prefix.front();
    result.windows = llm::cut_for_eval(result.tokens, cut);
    return result;
}

}  // namespace

std::string read_text(const std::string& path) {
    if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
    if (std::filesystem::is_directory(path)) throw FileError("read", path, EISDIR, ExitCode::BadInput);
    std::ifstream file(path, std::ios::binary);
    if (!file) throw FileError("open", path, errno, ExitCode::BadInput);
    return {std::istreambuf_iterator<char>(file), {}};
}

ExitCode evaluate_model(const MpiSession& session, EvalArguments args) {
    const Communicator& world = session.world();
    const auto model = llm::LanguageModel::open(world, {.path = args.model});
    const auto reference =
        args.reference.empty() ? nullptr : llm::LanguageModel::open(world, {.path = args.reference});
    const std::string text =
        decide_on_root(world, [&] { return args.given.empty() ? read_text(args.text) : args.given; });
    std::int64_t context = model->config().context;
    if (reference) context = std::min(context, reference->config().context);
    if (args.replica.context == 0)
        args.replica.context = static_cast<int>(std::min<std::int64_t>(context, usual_window));
    const CutText cut = agreed([&] { return cut_text(text, *model, reference.get(), args); });
    const std::span<const llm::EvalWindow> windows = cut.windows;
    args.replica.rows = args.replica.logits = std::min(args.rows, args.replica.context);

    const auto print = [&](const llm::EvalRun& run) {
        const llm::Evaluation evaluation = llm::evaluate(run.scores);
        const double rate = static_cast<double>(run.tokens) / run.seconds;
        if (args.json) {
            auto json = llm::evaluation_json(evaluation);
            json["windows"] = windows.size();
            json["processed_tokens"] = run.tokens;
            json["seconds"] = run.seconds;
            json["tokens_per_second"] = rate;
            fmt::print("{}\n", json.dump());
            return;
        }
        fmt::print("{}", llm::evaluation_text(evaluation));
        fmt::print("{:<15}{} tokens in {} windows, {}: {:.0f} tok/s ({})\n", "processed",
                   count_text(run.tokens), count_text(std::ssize(windows)), duration_text(run.seconds), rate,
                   run.where);
    };
    llm::evaluate_on_replicas(session, model->source(), reference ? &reference->source() : nullptr,
                              args.replica, windows, print);
    return ExitCode::Done;
}

void add_eval(CLI::App& model, Action& action) {
    CLI::App* eval =
        model.add_subcommand("eval", "measure a model on a text: perplexity, and KL divergence from another");
    eval->footer(
        "examples:\n"
        "  voltpile model eval model.gguf text.txt\n"
        "  voltpile model eval q4_k_m.gguf text.txt --against f16.gguf");
    auto args = std::make_shared<EvalArguments>();
    add_model_option(*eval, args->model)->required();
    eval->add_option("TEXT", args->text, "a UTF-8 file; - reads stdin")->required()->check(some_name());
    eval->add_option(
            "--against", args->reference,
            "also measure the KL divergence of MODEL from this one: the same model in another precision")
        ->type_name("MODEL")
        ->check(some_name());
    add_replica_options(*eval, args->replica);
    eval->get_option("--context")
        ->description(
            fmt::format("tokens in a window [{}, or less if the model supports less]", usual_window));
    eval->add_option(
            "--stride", args->stride,
            "tokens from the start of one window to the next; shared tokens are context only [no overlap]")
        ->check(CLI::Range(1, 1 << 24));
    eval->add_option("--rows", args->rows,
                     "tokens in a pass, each with logits; 1 to 4 measure the matrix products that as many "
                     "sequences use in decode steps")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
    eval->add_flag("--second-halves", args->second_halves,
                   "score only the second half of each full window, as llama.cpp does");
    eval->add_flag("--no-begin-token", args->no_begin_token,
                   "do not begin each window with the token that begins prompts");
    eval->add_flag("--json", args->json, "print the measurements as JSON");
    eval->callback([args, &action] {
        action = [args](const Invocation& invocation) {
            return with_mpi(invocation,
                            [&](const MpiSession& session) { return evaluate_model(session, *args); });
        };
    });
}

}  // namespace voltpile::cli
