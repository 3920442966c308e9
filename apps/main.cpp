// The command line and the table of apps.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/build_info.h"
#include "base/shell_quote.h"
#include "base/stack_limit.h"
#include "base/standard_streams.h"
#include "cli/command.h"
#include "job/nearest.h"
#include "llm/prompt_job/keys.h"
#include "llm/prompt_job/llm_app.h"
#include "run/stop_signals.h"
#include "threebody/keys.h"
#include "threebody/threebody_app.h"

namespace voltpile {
namespace {

std::vector<AppEntry> app_table() {
    return {{threebody_schema(), make_threebody}, {llm_schema(), make_llm}};
}

void define_commands(CLI::App& cli, cli::Action& action) {
    cli.require_subcommand(1);
    cli.set_version_flag("--version", to_text(build_info()),
                         "print version, git revision and built-in libraries");
    cli.footer(
        "examples:\n"
        "  voltpile run jobs/threebody/seed_map.toml\n"
        "  mpirun -np 4 voltpile run jobs/threebody/seed_map.toml --set sweep.x.count=500\n"
        "  voltpile show results/seed_map.h5\n"
        "  voltpile plot results/seed_map.h5 --output map.png\n"
        "  voltpile generate model.gguf \"And it came to pass\"\n"
        "  voltpile list results\n"
        "  voltpile export results/seed_map.h5 --output map.nc\n"
        "  voltpile help job threebody\n\n"
        "exit codes: 0 done; 2 the job file or the arguments are wrong; 3 this machine cannot run the job;\n"
        "            4 it failed while running; 5 it was stopped and the same command resumes it\n\n"
        "Voltpile is free software under the Apache License 2.0.");
    cli::add_run(cli, action);
    cli::add_plan(cli, action);
    cli::add_list(cli, action);
    cli::add_show(cli, action);
    cli::add_verify(cli, action);
    cli::add_export(cli, action);
    cli::add_plot(cli, action);
    cli::add_help(cli, action);
    cli::add_bench(cli, action);
    cli::add_hosts(cli, action);
    cli::add_submit(cli, action);
    cli::add_status(cli, action);
    cli::add_cancel(cli, action);
    cli::add_clean(cli, action);
    cli::add_model(cli, action);
    cli::add_generate(cli, action);
    cli::add_chat(cli, action);
    cli::add_serve(cli, action);
    cli::add_tokenize(cli, action);
    cli::add_manual(cli, action);
    cli::add_completion(cli, action);
}

// Throws if stdout did not take everything, whether or not that was still in the buffer (a full disk).
ExitCode with_all_printed(ExitCode code) {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    throw Error(ExitCode::Failed,
                "cannot write all output to stdout: the disk is full or the reader is gone");
}

// Throws JobError for an unknown command and suggests the nearest one; CLI11 would only say that a subcommand
// is required. at: the program, or a command that has commands (`model`). words: the arguments after its
// name.
void check_command_is_known(const CLI::App& at, const std::string& name, std::span<char*> words) {
    if (words.empty() || at.get_require_subcommand_min() == 0) return;
    const std::string word = words.front();
    if (word.starts_with('-')) return;
    std::vector<std::string> known;
    for (const CLI::App* command : at.get_subcommands({})) {
        if (command->get_name() == word)
            return check_command_is_known(*command, name + " " + word, words.subspan(1));
        known.push_back(command->get_name());
    }
    throw JobError(fmt::format("{0} has no command {1}{2} ({0} --help lists them)", name, word,
                               did_you_mean(nearest_word(word, known))));
}

// Prints the help or version that was asked for, or what is wrong with the arguments, on the first rank.
ExitCode answer_parse_error(const CLI::App& cli, const CLI::ParseError& error) {
    if (cli::launched_rank() == 0) {
        std::ostringstream out, err;
        cli.exit(error, out, err);
        fmt::print("{}", out.str());
        print_stderr(err.str());
    }
    return error.get_exit_code() == 0 ? with_all_printed(ExitCode::Done) : ExitCode::BadInput;
}

ExitCode run_command(int argc, char** argv) {
    CLI::App cli("Voltpile runs a job file on all CPUs and GPUs of a machine or cluster, over MPI.",
                 "voltpile");
    cli::Action action;
    define_commands(cli, action);
    try {
        const std::vector<std::string> words(argv, argv + argc);
        check_command_is_known(cli, "voltpile", std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
        cli.parse(argc, argv);
        const std::vector<AppEntry> apps = app_table();
        return with_all_printed(action({argc, argv, shell_command_line(words), apps}));
    } catch (const CLI::ParseError& error) {
        return answer_parse_error(cli, error);
    }
}

// Turns every exception into a message and an exit code. Nothing that is printed here can throw.
ExitCode report_errors(int argc, char** argv) noexcept {
    try {
        raise_stack_limit();
        return run_command(argc, argv);
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
    if (command == "run" || command == "serve") voltpile::block_stop_signals();
    voltpile::log_to_stderr();
    return static_cast<int>(voltpile::report_errors(argc, argv));
}
