#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/length_options.h"
#include "cli/request_options.h"
#include "llm/bench/serve_bench.h"

namespace voltpile::cli {

void add_bench_serve(CLI::App& bench, Action& action) {
    CLI::App* command =
        bench.add_subcommand("serve", "measure how a server with OpenAI's API answers many requests at once");
    command->footer(
        "examples:\n"
        "  voltpile bench serve http://127.0.0.1:8000 --requests 200 --rate 5 --prompt-lengths 64:1024\n"
        "  voltpile bench serve https://node7:8000 --requests 1000 --clients 32 --api-key-file keys.txt\n"
        "  voltpile bench serve http://127.0.0.1:8000 --requests 2000 --prompts 20 --check\n\n"
        "The figures are those of bench llm --requests: docs/serve.md compares them.");
    auto options = std::make_shared<llm::ServeBenchOptions>();
    llm::LoadSettings& load = options->load;
    load.requests = 100;
    command->add_option("URL", options->url, "address of the server, with or without /v1")
        ->required()
        ->check(some_name());
    command->add_option("--requests", load.requests, "requests in total")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    CLI::Option* const rate =
        command->add_option("--rate", load.rate, "requests per second, as a Poisson process [all at once]")
            ->check(number_between(0.001, 1e6));
    command
        ->add_option("--clients", load.clients,
                     "send the requests from this many clients, each of which waits for its answers")
        ->check(CLI::Range(1, 1 << 20))
        ->excludes(rate);
    add_length_option(*command, "--prompt-lengths", load.prompt,
                      "tokens of each prompt: a length or a range [128]");
    add_length_option(*command, "--generate-lengths", load.generate,
                      "tokens generated for each request: a length or a range [128]");
    command->add_option("--prompts", load.prompts, "distinct prompts, used in turn [one for each request]")
        ->check(CLI::Range(1, 1 << 20));
    command->add_flag("--check", options->check,
                      "first send each distinct prompt alone; every later answer must be the same");
    add_seed(*command, load.seed, "seed of lengths, arrivals and tokens");
    command
        ->add_option("--vocabulary", options->vocabulary,
                     "prompts consist of tokens below this number [all tokens, if the server says how many]")
        ->check(CLI::Range(1, 1 << 30));
    command->add_option("--api-key-file", options->api_key_file, "file whose first key is sent [no key]")
        ->type_name("FILE")
        ->check(some_name());
    command
        ->add_option("--tls-ca", options->trusted,
                     "certificates in PEM that may sign the server's [those of the system]")
        ->type_name("FILE")
        ->check(some_name());
    command
        ->add_option("--timeout", options->silence_seconds,
                     "seconds without a byte of an answer after which a request fails")
        ->check(CLI::Range(1, 86400))
        ->capture_default_str();
    command->add_flag("--json", options->json, "print the measurements as JSON");
    command->callback([options, &action] {
        action = on_first_rank([options](const Invocation&) {
            llm::run_serve_bench(*options);
            return ExitCode::Done;
        });
    });
}

}  // namespace voltpile::cli
