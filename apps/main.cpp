// The table of apps, and the program's exit codes.
#include <cstdio>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/fault.h"
#include "base/stack_limit.h"
#include "base/standard_streams.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "command/command_app.h"
#include "command/judge.h"
#include "command/keys.h"
#include "llm/prompt_job/keys.h"
#include "llm/prompt_job/llm_app.h"
#include "llm/serve/serve_app.h"
#include "llm/serve/serve_keys.h"
#include "nbody/keys.h"
#include "nbody/nbody_app.h"
#include "ode/keys.h"
#include "ode/ode_app.h"
#include "rootmap/keys.h"
#include "rootmap/rootmap_app.h"
#include "run/stop_signals.h"
#include "run/watchdog.h"
#include "threebody/keys.h"
#include "threebody/threebody_app.h"

namespace voltpile {
namespace {

std::vector<AppEntry> app_table() {
    return {{threebody_schema(), make_threebody},
            {rootmap_schema(), make_rootmap},
            {nbody_schema(), make_nbody},
            {ode_schema(), make_ode},
            {llm_schema(), make_llm},
            {.schema = serve_schema(), .make_service = make_serve},
            {.schema = command_schema(), .make = make_command, .judge = judge_command}};
}

// Turns every exception into a message and an exit code. Nothing that is printed here can throw.
ExitCode report_errors(int argc, char** argv) noexcept {
    try {
        raise_stack_limit();
        load_faults(cli::launched_rank());
        return cli::run_command_line(argc, argv, app_table());
    } catch (const Error& error) {
        if (cli::launched_rank() == 0) print_error(error.what());
        return error.exit_code();
    } catch (const std::system_error& error) {
        print_stderr(std::ferror(stdout) != 0 ? "cannot write to stdout: " : "voltpile: ");
        print_error(error.what());
    } catch (const std::exception& error) {
        print_stderr("voltpile: ");
        print_error(error.what());
    }
    return ExitCode::Failed;
}

}  // namespace
}  // namespace voltpile

int main(int argc, char** argv) {
    voltpile::open_missing_streams();
    // Before anything else: a signal that arrives while MPI starts counts as well.
    const std::string_view command = argc > 1 ? argv[1] : "";
    if (command == "run" || command == "serve") {
        voltpile::block_stop_signals();
        voltpile::block_report_signal();
    }
    voltpile::log_to_stderr();
    return static_cast<int>(voltpile::report_errors(argc, argv));
}
