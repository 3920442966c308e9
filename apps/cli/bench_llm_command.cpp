#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/grammar_options.h"
#include "cli/length_options.h"
#include "cli/lora_options.h"
#include "cli/replica_options.h"
#include "cli/request_options.h"
#include "llm/bench/llm_bench.h"
#include "llm/bench/load_bench.h"
#include "llm/model/quant_mixture.h"
#include "llm/model/synthetic_shapes.h"
#include "run/agreement.h"

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
    add("--prompt", options.prompts, "lengths of the prompts, in tokens");
    add("--context", options.contexts, "tokens in the KV cache of each sequence before generation");
    add("--batch", options.batches, "sequences that are generated at once");
    command.add_option("--generate", options.generated, "timed decode steps")
        ->check(CLI::Range(1, 1 << 16))
        ->capture_default_str();
}

void add_load(CLI::App& command, llm::LlmBenchOptions& options, GrammarOptions& grammar) {
    llm::LoadSettings& load = options.load;
    CLI::Option* const requests =
        command
            .add_option("--requests", load.requests,
                        "serve this many requests as they arrive, instead of timing fixed batches")
            ->check(CLI::Range(1, 1 << 20));
    for (const char* other : {"--prompt", "--context", "--batch", "--generate"})
        requests->excludes(command.get_option(other));
    const auto add = [&](const char* name, auto& value, const char* help) {
        return command.add_option(name, value, help)->needs(requests);
    };
    add("--rate", load.rate, "requests per second, as a Poisson process [all at once]")
        ->check(number_between(0.001, 1e6));
    add_length_option(command, "--prompt-lengths", load.prompt,
                      "tokens of each prompt: a length or a range [128]")
        ->needs(requests);
    add_length_option(command, "--generate-lengths", load.generate,
                      "tokens generated for each request: a length or a range [128]")
        ->needs(requests);
    add("--sequences", options.sequences, "sequences at once [all, up to 256]")
        ->check(CLI::Range(1, 1 << 16));
    add("--cache-tokens", options.request.cache_tokens,
        "tokens in the KV cache of all sequences together [what fits into memory]")
        ->check(CLI::Range(1, 1 << 30));
    add("--interrupt-with", load.interrupt_prompt,
        "send a prompt of this many tokens while all others generate")
        ->check(CLI::Range(1, 1 << 24));
    CLI::Option* const draft = add_draft_option(command, options.draft)->needs(requests);
    CLI::Option* const shape =
        command
            .add_option("--draft-shape", options.draft_shape,
                        "instead of --draft: random weights of this shape, with the precision of --quant")
            ->type_name("NAME")
            ->needs(requests)
            ->excludes(draft);
    command
        .add_option("--agreement", options.agreement,
                    "count this share of the guesses as right, whatever the model draws: for random weights")
        ->needs(requests)
        ->check(CLI::Range(0.0, 1.0));
    add_replica_fields(command, options.request, {"draft_tokens", "draft_ranks"});
    command.parse_complete_callback([&command, draft, shape] {
        for (const char* other : {"--draft-tokens", "--draft-ranks", "--agreement"})
            if (command.count(other) > 0 && draft->count() + shape->count() == 0)
                throw CLI::RequiresError(other, "--draft or --draft-shape");
    });
    add_seed(command, load.seed, "seed of lengths, arrivals and tokens")->needs(requests);
    for (CLI::Option* const form : add_grammar_options(command, grammar)) {
        form->needs(requests);
        form->description("measure the load a second time: " + form->get_description());
    }
}

}  // namespace

void add_bench_llm(CLI::App& bench, Action& action) {
    CLI::App* command = bench.add_subcommand(
        "llm", "measure prefill and decode rates of a language model against memory bandwidth");
    command->footer(
        "examples:\n"
        "  voltpile bench llm model.gguf --batch 1,8,32\n"
        "  mpirun -np 4 voltpile bench llm --shape llama-3-70b --quant q5_k_m --context 512,4096\n"
        "  voltpile bench llm model.gguf --requests 200 --rate 5 --prompt-lengths 64:1024\n"
        "  voltpile bench llm model.gguf --requests 32 --generate-lengths 256 --json-schema person.json\n\n"
        "docs/models.md describes what is measured and how.");
    auto options = std::make_shared<llm::LlmBenchOptions>();
    std::vector<std::string> mixtures;
    for (const auto& entry : llm::kSyntheticMixtures) mixtures.emplace_back(entry.name);
    add_model_option(*command, options->model);
    command
        ->add_option("--shape", options->shape,
                     fmt::format("instead of MODEL: random weights in memory, of this shape: {}",
                                 fmt::join(llm::synthetic_shape_names(), ", ")))
        ->type_name("NAME");
    command
        ->add_option("--quant", options->quant,
                     fmt::format("precision of these weights: {}", fmt::join(mixtures, ", ")))
        ->type_name("NAME")
        ->capture_default_str();
    add_lora_option(*command, options->lora);
    CLI::Option* const random =
        command
            ->add_option(
                "--adapters", options->random_adapters,
                "give the model this many LoRA adapters with random factors for the matrices of its layers, "
                "which the sequences take in turn, as they take those of --lora")
            ->check(CLI::Range(std::size_t{1}, llm::kMostAdapters))
            ->excludes(command->get_option("--lora"));
    command->add_option("--adapter-rank", options->random_rank, "rank of these adapters")
        ->check(CLI::Range(1, llm::kMostLoraRank))
        ->capture_default_str()
        ->needs(random);
    add_lists(*command, *options);
    add_team_options(*command, options->request);
    command->add_flag("--json", options->json, "print the measurements as JSON");
    command->add_option("--output", options->output, "also write the results to this HDF5 file")
        ->type_name("FILE")
        ->check(some_name());
    auto grammar = std::make_shared<GrammarOptions>();
    add_load(*command, *options, *grammar);
    command->callback([options, grammar, &action] {
        if (options->model.empty() == options->shape.empty())
            throw CLI::ValidationError("bench llm", "needs either a MODEL or a --shape");
        action = [options, grammar](const Invocation& invocation) {
            options->command_line = invocation.command_line;
            return with_mpi(invocation, [&](const MpiSession& session) {
                options->load.grammar = agreed([&] { return grammar_source(*grammar); });
                if (options->load.requests > 0)
                    llm::run_load_bench(session, *options);
                else
                    llm::run_llm_bench(session, *options);
                return ExitCode::Done;
            });
        };
    });
}

}  // namespace voltpile::cli
