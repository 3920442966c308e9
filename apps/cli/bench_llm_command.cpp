#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/replica_options.h"
#include "llm/bench/llm_bench.h"
#include "llm/model/quant_mixture.h"
#include "llm/model/synthetic_shapes.h"

namespace voltpile::cli {
namespace {

void add_lists(CLI::App& command, llm::LlmBenchOptions& options) {
    const auto add = [&](const char* name, std::vector<int>& values, const char* help) {
        command.add_option(name, values, help)
            ->delimiter(',')
            ->allow_extra_args(false)
            ->check(CLI::Range(1, 1 << 20))
            ->type_name("N,...")
            ->capture_default_str();
    };
    add("--prompt", options.prompts, "lengths of prompts");
    add("--context", options.contexts, "tokens of each text before generation");
    add("--batch", options.batches, "texts that are generated at once");
    command.add_option("--generate", options.generated, "tokens of each text that are timed")
        ->check(CLI::Range(1, 1 << 16))
        ->capture_default_str();
}

}  // namespace

void add_bench_llm(CLI::App& bench, Action& action) {
    CLI::App* command = bench.add_subcommand(
        "llm", "prompt and generation rates of a language model, against what the memory gives");
    command->footer(
        "examples:\n"
        "  voltpile bench llm model.gguf --batch 1,8,32\n"
        "  mpirun -np 4 voltpile bench llm --shape llama-3-70b --quant q5_k_m --context 512,4096\n\n"
        "docs/models.md says what is measured and how.");
    auto options = std::make_shared<llm::LlmBenchOptions>();
    std::vector<std::string> mixtures;
    for (const auto& entry : llm::kQuantMixtures) mixtures.emplace_back(entry.name);
    add_model_option(*command, options->model);
    command
        ->add_option("--shape", options->shape,
                     fmt::format("random weights in memory instead: {}",
                                 fmt::join(llm::synthetic_shape_names(), ", ")))
        ->type_name("NAME");
    command->add_option("--quant", options->quant, fmt::format("of these: {}", fmt::join(mixtures, ", ")))
        ->type_name("NAME")
        ->capture_default_str();
    add_lists(*command, *options);
    add_team_options(*command, options->request);
    command->add_flag("--json", options->json, "print what was measured as JSON");
    command->add_option("--output", options->output, "also write the results to this HDF5 file")
        ->type_name("FILE");
    command->callback([options, &action] {
        if (options->model.empty() == options->shape.empty())
            throw CLI::ValidationError("bench llm", "wants a MODEL or a --shape");
        action = [options](const Invocation& invocation) {
            options->command_line = invocation.command_line;
            return with_mpi(invocation, [&](const MpiSession& session) {
                llm::run_llm_bench(session, *options);
                return ExitCode::Done;
            });
        };
    });
}

}  // namespace voltpile::cli
