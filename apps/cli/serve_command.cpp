#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "base/host_name.h"
#include "cli/command.h"
#include "cli/field_options.h"
#include "cli/lora_options.h"
#include "cli/replica_options.h"
#include "llm/replica/replica.h"
#include "llm/serve/model_server.h"
#include "results/telemetry_log.h"
#include "run/runner.h"
#include "run/same_build.h"
#include "run/watched_service.h"

namespace voltpile::cli {
namespace {

// Adds the option of one field of kServeFields; its type decides which.
class ServeOption {
  public:
    ServeOption(CLI::App& command, llm::ServeOptions& options, const llm::ServeField& field)
        : command_(command), field_(field), name_(option_name(field.name)), help_(field.help) {
        std::visit([&](auto member) { add(options.*member); }, field.member);
    }

  private:
    void add(std::string& value) {
        CLI::Option* const option =
            command_.add_option(name_, value, help_)->type_name(std::string(field_.kind))->check(some_name());
        if (!value.empty()) option->capture_default_str();
        if (field_.choices.empty()) return;
        option->check(CLI::IsMember(std::vector<std::string>(field_.choices.begin(), field_.choices.end())));
        option->type_name(std::string(field_.kind));  // without the choices that the check adds
    }
    void add(int& value) { add_range_option(command_, name_, value, field_.least, field_.most, help_); }
    void add(bool& on) { add_on_off_option(command_, name_, on, help_); }
    void add(std::vector<std::string>& values) {
        command_.add_option(name_, values, help_)
            ->type_name(std::string(field_.kind))
            ->allow_extra_args(false)
            ->check(some_name());
    }

    CLI::App& command_;
    const llm::ServeField& field_;
    std::string name_;
    std::string help_;
};

constexpr std::chrono::seconds kTelemetryPeriod{1};
constexpr const char* kNoTelemetry = "none";

// The name tells servers apart that run at the same time: of other models, on other hosts, on other ports.
std::filesystem::path usual_telemetry_file(const llm::ServeRequest& request) {
    std::filesystem::path model = std::filesystem::path(request.model.path).lexically_normal();
    if (!model.has_filename()) model = model.parent_path();
    return std::filesystem::path("results") / fmt::format("{}-{}-{}{}", model.stem().string(), host_name(),
                                                          request.options.port, kTelemetryLogEnding);
}

TelemetryRequest telemetry_of(const llm::ServeRequest& request, const std::string& file) {
    TelemetryRequest telemetry;
    if (file == kNoTelemetry)
        telemetry.record = "no";
    else if (!file.empty())
        telemetry.file = file;
    else if (request.options.address_file.empty())
        telemetry.file = usual_telemetry_file(request);
    return telemetry;
}

CLI::Validator telemetry_name() {
    return CLI::Validator(
        [](const std::string& name) {
            return name == kNoTelemetry || is_telemetry_log(name)
                       ? std::string()
                       : fmt::format("'{}' must end in {}, or be {}", name, kTelemetryLogEnding,
                                     kNoTelemetry);
        },
        "");
}

ExitCode serve_model(const MpiSession& mpi, const llm::ServeRequest& request,
                     const TelemetryRequest& telemetry) {
    StopSignals signals;
    const llm::ModelServer server(request, &mpi.world());
    const llm::ReplicaPlan plan = llm::agreed_plan(mpi, server.model().source(), server.replica());
    NodeMonitor monitor(mpi.world(), kTelemetryPeriod);
    watch_service(mpi.world(), plan.plan, telemetry, request.options.address_file, &monitor, nullptr,
                  [&](NodeWatch* watch) { return server.run(mpi, signals, plan, watch); });
    return ExitCode::Stopped;
}

}  // namespace

void add_serve(CLI::App& cli, Action& action) {
    CLI::App* command =
        cli.add_subcommand("serve", "answer HTTP requests with a language model (OpenAI's API)");
    command->footer(
        "examples:\n"
        "  voltpile serve model.gguf\n"
        "  mpirun -np 4 voltpile serve model.gguf --host 0.0.0.0 --api-key-file keys.txt\n"
        "  mpirun -np 4 voltpile serve model.gguf --tensor 2 --replicas 2\n\n"
        "docs/serve.md describes the API and how the server stops.");
    auto request = std::make_shared<llm::ServeRequest>();
    request->place = option_name;
    add_model_option(*command, request->model.path)->required();
    for (const llm::ServeField& field : llm::kServeFields) ServeOption(*command, request->options, field);
    command->get_option("--tls-cert")->needs(command->get_option("--tls-key"));
    command->get_option("--tls-key")->needs(command->get_option("--tls-cert"));
    add_replica_options(*command, request->replica);
    add_replica_fields(*command, request->replica, {"replicas", "sequences", "rows", "host_cache_tokens"});
    add_speculate_options(*command, request->replica, request->draft);
    add_lora_option(*command, request->model.lora);
    auto telemetry = std::make_shared<std::string>();
    command
        ->add_option("--telemetry", *telemetry,
                     "where to keep what is sampled of the nodes, or none [beside the address file, else "
                     "results/MODEL-HOST-PORT.telemetry.h5]")
        ->type_name("FILE")
        ->check(telemetry_name());
    command->callback([request, telemetry, &action] {
        action = [request, telemetry](const Invocation& invocation) {
            choose_usual_transport();
            return with_mpi(invocation, [&](const MpiSession& mpi) {
                check_same_build(mpi.world());
                return serve_model(mpi, *request, telemetry_of(*request, *telemetry));
            });
        };
    });
}

}  // namespace voltpile::cli
