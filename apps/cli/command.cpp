#include "cli/command.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>

#include "base/host_name.h"
#include "base/shipped_files.h"
#include "base/standard_streams.h"
#include "cli/process_rank.h"
#include "comm/mpi/launch_check.h"
#include "run/agreement.h"
#include "run/final_failure.h"
#include "run/server_status.h"

#include <CLI/CLI.hpp>

namespace voltpile::cli {

std::string option_name(std::string_view field) {
    std::string name = fmt::format("--{}", field);
    std::ranges::replace(name, '_', '-');
    return name;
}

void add_job_options(CLI::App& command, RunOptions& run) {
    command
        .add_option("JOB", run.job_path, "job file (TOML), or the name of an installed one, such as seed_map")
        ->required()
        ->transform(shipped_file("jobs"))
        ->check(some_name());
    command
        .add_option("--set", run.overrides,
                    "override a key of the job file, such as integrate.steps=5000 or sweep.x.count=100")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
}

void keep_piped_job(RunOptions& run) {
    if (is_piped_job(run.job_path) && launched_rank() == 0) run.job_text = read_job_text(run.job_path);
}

CLI::Validator some_name() {
    return CLI::Validator(
        [](const std::string& name) { return std::string(name.empty() ? "the name is empty" : ""); }, "");
}

CLI::Validator some_result() {
    return CLI::Validator(
        [](const std::string& name) {
            if (name.empty()) return std::string("the name is empty");
            if (!read_server_status(server_status_path(name))) return std::string();
            return fmt::format(
                "{} is the address of a server, which has no result; voltpile status {} shows "
                "how busy it is, voltpile plot --telemetry {} draws its telemetry",
                name, name, telemetry_log_file(name).string());
        },
        "");
}

CLI::Validator shipped_file(const std::string& folder) {
    return CLI::Validator(
        [folder](std::string& name) {
            name = find_shipped(name, folder);
            return std::string();
        },
        "");
}

int launched_rank() {
    return launcher_rank().value_or(0);
}

Action on_first_rank(std::function<ExitCode(const Invocation&)> action) {
    return [action = std::move(action)](const Invocation& invocation) {
        return launched_rank() == 0 ? action(invocation) : ExitCode::Done;
    };
}

ExitCode with_mpi(const Invocation& invocation, const std::function<ExitCode(const MpiSession&)>& body) {
    int argc = invocation.argc;
    char** argv = invocation.argv;
    check_launcher();
    const MpiSession mpi(argc, argv);
    check_world_size(mpi.world().size());
    if (mpi.world().size() > 1)
        spdlog::default_logger()->set_pattern(
            fmt::format("%^%l%$ (rank {} on {}): %v", mpi.world().rank(), host_name()));
    try {
        return body(mpi);
    } catch (const AgreedError& error) {  // thrown by all ranks
        // As failures of a single rank are printed: `launch` takes such a line for its verdict.
        const char* const kind = error.exit_code() == kFinalFailure ? "error: " : "";
        if (mpi.world().rank() == 0) print_error(std::string(kind) + error.what());
        return process_exit_code(error.exit_code());
    } catch (const std::exception& error) {
        end_all_ranks(mpi, error);
    }
}

}  // namespace voltpile::cli
