#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <utility>

#include "cli/command.h"
#include "cli/replica_options.h"
#include "llm/replica/same_model.h"
#include "llm/serve/serve.h"
#include "llm/session/session.h"
#include "run/agreement.h"
#include "run/stop_signals.h"

namespace voltpile::cli {
namespace {

constexpr int longest_usual_context = 8192;  // tokens; as in `chat`

struct ServeArguments {
    std::string model;
    std::string chat_template;
    std::string name;
    std::string api_key_file;
    int queue = 256;
    int body_mb = 32;
    llm::ServeSettings serve;
    llm::ReplicaRequest replica;

    ServeArguments() {
        serve.api.grace_seconds = 30;
        replica.sequences = 64;
        replica.rows = 512;
        replica.shrinks = true;
    }
};

// "models/Qwen3-8B-Q4_K_M.gguf": "Qwen3-8B-Q4_K_M"
std::string model_name(const std::string& path) {
    std::filesystem::path name = std::filesystem::path(path).lexically_normal();
    if (!name.has_filename()) name = name.parent_path();
    return name.extension() == ".gguf" ? name.stem().string() : name.filename().string();
}

std::int64_t unix_time() {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

// Reads what can be wrong with the arguments before the model is loaded.
void prepare_settings(ServeArguments& args, const llm::LanguageModel& model) {
    llm::ApiSettings& api = args.serve.api;
    if (!args.api_key_file.empty()) api.keys = http::ApiKeys::from_file(args.api_key_file);
    api.model = {args.name.empty() ? model_name(args.model) : args.name, model.config().vocab,
                 args.replica.context, unix_time()};
    api.requests = args.replica.sequences + args.queue;
    args.serve.http.body_bytes = static_cast<std::size_t>(args.body_mb) << 20;
    model.tokenizer();
    if (model.has_chat_template()) model.chat_template();
}

ExitCode serve_model(const MpiSession& mpi, ServeArguments args) {
    StopSignals signals;
    const auto model =
        llm::LanguageModel::open(mpi.world(), {.path = args.model, .chat_template = args.chat_template});
    if (args.replica.context == 0)
        args.replica.context =
            static_cast<int>(std::min<std::int64_t>(model->config().context, longest_usual_context));
    agreed([&] {
        prepare_settings(args, *model);
        return true;
    });
    args.replica.rows = std::max(args.replica.rows, args.replica.sequences);
    args.replica.logits = args.replica.sequences;
    llm::ReplicaPlan plan = llm::agreed_plan(mpi, model->source(), args.replica);
    llm::with_session(mpi, *model, std::move(plan), [&](llm::Session& session) {
        session.answer({.many = true, .text = true},
                       [&](llm::Engine& engine) { llm::serve(args.serve, *model, engine, signals); });
    });
    return ExitCode::Stopped;
}

void add_server_options(CLI::App& command, ServeArguments& args) {
    http::ServerSettings& server = args.serve.http;
    command.add_option("--host", server.host, "address to listen on; 0.0.0.0 and :: for all")
        ->capture_default_str();
    command.add_option("--port", server.port, "port to listen on; 0: a free one")
        ->check(CLI::Range(0, 65535))
        ->capture_default_str();
    command
        .add_option("--address-file", args.serve.address_file,
                    "write the server's address to this file once it listens")
        ->type_name("FILE")
        ->check(some_name());
    command
        .add_option("--api-key-file", args.api_key_file,
                    "file of API keys, one a line [everybody may use the server]")
        ->type_name("FILE")
        ->check(some_name());
    auto* certificate =
        command.add_option("--tls-cert", server.tls_certificate, "certificate chain in PEM: serve HTTPS")
            ->type_name("FILE")
            ->check(some_name());
    auto* key = command.add_option("--tls-key", server.tls_key, "private key of the certificate in PEM")
                    ->type_name("FILE")
                    ->check(some_name());
    certificate->needs(key);
    key->needs(certificate);
    command
        .add_option(
            "--cors-origin", server.cors_origins,
            "let pages of this origin use the API (https://chat.example, or *); may be repeated [none]")
        ->type_name("ORIGIN")
        ->allow_extra_args(false);
    command.add_option("--name", args.name, "name of the model in the API [its file's name]")
        ->type_name("NAME")
        ->check(some_name());
    command.add_option("--queue", args.queue, "requests that may wait; more get status 429")
        ->check(CLI::Range(0, 1 << 20))
        ->capture_default_str();
    command.add_option("--connections", server.connections, "open connections; more get status 503")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    command
        .add_option("--body-mb", args.body_mb, "largest body of a request in MiB; larger ones get status 413")
        ->check(CLI::Range(1, 1 << 10))
        ->capture_default_str();
    command
        .add_option("--grace", args.serve.api.grace_seconds,
                    "seconds that running requests have to finish after a stop signal")
        ->check(CLI::Range(0, 86400))
        ->capture_default_str();
}

}  // namespace

void add_serve(CLI::App& cli, Action& action) {
    CLI::App* command =
        cli.add_subcommand("serve", "answer HTTP requests with a language model (OpenAI's API)");
    command->footer(
        "examples:\n"
        "  voltpile serve model.gguf\n"
        "  mpirun -np 4 voltpile serve model.gguf --host 0.0.0.0 --api-key-file keys.txt\n\n"
        "docs/serve.md describes the API and how the server stops.");
    auto args = std::make_shared<ServeArguments>();
    add_model_option(*command, args->model)->required();
    add_server_options(*command, *args);
    command->add_option("--template", args->chat_template, "chat template [the model's own]")
        ->type_name("NAME");
    command->add_option("--sequences", args->replica.sequences, "sequences that the model generates at once")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
    command
        ->add_option("--rows", args->replica.rows, "largest number of tokens in a pass; at least --sequences")
        ->check(CLI::Range(1, 65536))
        ->capture_default_str();
    add_replica_options(*command, args->replica);
    command->callback([args, &action] {
        action = [args](const Invocation& invocation) {
            return with_mpi(invocation, [&](const MpiSession& mpi) { return serve_model(mpi, *args); });
        };
    });
}

}  // namespace voltpile::cli
