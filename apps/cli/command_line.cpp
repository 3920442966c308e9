#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <cstdio>
#include <span>
#include <sstream>
#include <string>

#include "base/build_info.h"
#include "base/shell_quote.h"
#include "base/standard_streams.h"
#include "cli/command.h"
#include "job/nearest.h"

namespace voltpile::cli {
namespace {

void define_commands(CLI::App& cli, Action& action) {
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
        "exit codes: 0 done; 1 compare found a difference; 2 the job file or the arguments are wrong;\n"
        "            3 this machine cannot run the job; 4 it failed while running; 5 it was stopped and the "
        "same\n"
        "            command resumes it\n\n"
        "Voltpile is free software under the Apache License 2.0.");
    add_run(cli, action);
    add_launch(cli, action);
    add_plan(cli, action);
    add_list(cli, action);
    add_show(cli, action);
    add_verify(cli, action);
    add_repair(cli, action);
    add_export(cli, action);
    add_plot(cli, action);
    add_view(cli, action);
    add_compare(cli, action);
    add_help(cli, action);
    add_bench(cli, action);
    add_calibrate(cli, action);
    add_hosts(cli, action);
    add_check(cli, action);
    add_topo(cli, action);
    add_submit(cli, action);
    add_status(cli, action);
    add_top(cli, action);
    add_cancel(cli, action);
    add_clean(cli, action);
    add_model(cli, action);
    add_generate(cli, action);
    add_chat(cli, action);
    add_serve(cli, action);
    add_tokenize(cli, action);
    add_manual(cli, action);
    add_completion(cli, action);
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

// Throws JobError for an option that its command does not have, and suggests the nearest one.
void check_options_are_known(const CLI::App& cli) {
    std::string name = "voltpile";
    for (const CLI::App* command = &cli;;) {
        for (const std::string& word : command->remaining()) {
            if (word == "--") break;
            const bool is_option = word.starts_with('-') && word.size() > 1 &&
                                   std::isdigit(static_cast<unsigned char>(word[1])) == 0;
            if (!is_option) continue;
            const std::string option = word.substr(0, word.find('='));
            std::vector<std::string> known;
            for (const CLI::Option* each : command->get_options())
                for (const std::string& known_name : each->get_lnames()) known.push_back("--" + known_name);
            throw JobError(fmt::format("{0} has no option {1}{2} ({0} --help lists them)", name, option,
                                       did_you_mean(nearest_word(option, known))));
        }
        if (command->get_subcommands().empty()) return;
        command = command->get_subcommands().front();
        name += " " + command->get_name();
    }
}

// Prints the help or version that was asked for, or what is wrong with the arguments, on the first rank.
ExitCode answer_parse_error(const CLI::App& cli, const CLI::ParseError& error) {
    if (launched_rank() == 0) {
        std::ostringstream out, err;
        cli.exit(error, out, err);
        fmt::print("{}", out.str());
        print_stderr(err.str());
    }
    return error.get_exit_code() == 0 ? with_all_printed(ExitCode::Done) : ExitCode::BadInput;
}

}  // namespace

ExitCode run_command_line(int argc, char** argv, const std::vector<AppEntry>& apps) {
    CLI::App cli("Voltpile runs a job file on all CPUs and GPUs of a machine or cluster, over MPI.",
                 "voltpile");
    Action action;
    define_commands(cli, action);
    try {
        const std::vector<std::string> words(argv, argv + argc);
        check_command_is_known(cli, "voltpile", std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
        cli.parse(argc, argv);
        return with_all_printed(action({argc, argv, shell_command_line(words), apps}));
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() != 0) check_options_are_known(cli);
        return answer_parse_error(cli, error);
    }
}

}  // namespace voltpile::cli
