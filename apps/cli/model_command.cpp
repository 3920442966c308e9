#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/format.h"
#include "cli/command.h"
#include "cli/quantize_command.h"
#include "cli/replica_options.h"
#include "cli/request_options.h"
#include "llm/model/model_files.h"
#include "llm/model/model_text.h"
#include "llm/model/synthetic_model.h"
#include "llm/model/synthetic_shapes.h"
#include "results/output_file.h"
#include "run/stop_signals.h"

namespace voltpile::cli {
namespace {

struct SynthArguments {
    std::string shape;
    std::string mixture;
    std::string output;
    std::uint64_t seed = 1;
};

void print_model(const llm::ModelSource& model) {
    fmt::print("{}\n{}", llm::config_text(model), llm::needs_text(model));
}

ExitCode show_model(const std::string& path) {
    const llm::ModelFiles model(path);
    const std::size_t files = model.paths().size();
    fmt::print("{:<13}{} ({} in {} file{})\n", "model", path,
               bytes_text(static_cast<double>(model.file_bytes())), files, files == 1 ? "" : "s");
    print_model(model);
    fmt::print("fingerprint  {}\n", model.fingerprint());
    return ExitCode::Done;
}

ExitCode make_model(const SynthArguments& args) {
    if (!args.output.empty())
        check_output_file(args.output, "--output", {"voltpile model synth", llm::is_synthetic_gguf});
    const llm::SyntheticModel model(args.shape, args.mixture, args.seed);
    if (args.output.empty()) {
        print_model(model);
        return ExitCode::Done;
    }
    StopSignals signals;  // an interrupted run removes its file, which may have 100 GB
    model.write_gguf(args.output, [&] { return signals.received() > 0; });
    fmt::print("wrote {}\n", args.output);
    return ExitCode::Done;
}

void add_info(CLI::App& model, Action& action) {
    CLI::App* info =
        model.add_subcommand("info", "describe a model and the memory it needs on 1, 2, 4 and 8 GPUs");
    info->footer("example: voltpile model info model.gguf");
    auto path = std::make_shared<std::string>();
    add_model_option(*info, *path)->required();
    info->callback(
        [path, &action] { action = on_first_rank([path](const Invocation&) { return show_model(*path); }); });
}

void add_synth(CLI::App& model, Action& action) {
    CLI::App* synth = model.add_subcommand("synth", "write a model of a published shape with random weights");
    synth->footer("example: voltpile model synth --shape llama-3-8b --quant q8_0 -o 8b.gguf");
    auto args = std::make_shared<SynthArguments>();
    std::vector<std::string> mixtures;
    for (const auto& entry : llm::kSyntheticMixtures) mixtures.emplace_back(entry.name);
    synth
        ->add_option("--shape", args->shape, fmt::format("{}", fmt::join(llm::synthetic_shape_names(), ", ")))
        ->type_name("NAME")
        ->required();
    synth->add_option("--quant", args->mixture, fmt::format("{}", fmt::join(mixtures, ", ")))
        ->type_name("NAME")
        ->required();
    synth->add_option("-o,--output", args->output, "write this GGUF file [only describe the model]")
        ->type_name("FILE")
        ->check(some_name());
    add_seed(*synth, args->seed, "seed of the random weights");
    synth->callback(
        [args, &action] { action = on_first_rank([args](const Invocation&) { return make_model(*args); }); });
}

}  // namespace

void add_model(CLI::App& cli, Action& action) {
    CLI::App* model = cli.add_subcommand(
        "model", "describe language models, measure them, quantize them, or write synthetic ones");
    model->footer(
        "examples:\n"
        "  voltpile model info model.gguf\n"
        "  voltpile model eval model.gguf text.txt --against other.gguf\n"
        "  voltpile model quantize folder q4.gguf --quant q4_k_m\n"
        "  voltpile model synth --shape llama-3-8b --quant q8_0 -o 8b.gguf");
    model->require_subcommand(1);
    add_info(*model, action);
    add_eval(*model, action);
    add_quantize(*model, action);
    add_synth(*model, action);
}

}  // namespace voltpile::cli
