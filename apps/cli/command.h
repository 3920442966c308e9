// The subcommands of the command line: one file each, added to the parser by one function each.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>
#include <string>

#include "base/error.h"
#include "comm/mpi/session.h"
#include "run/runner.h"

namespace voltpile::cli {

// What a command needs to know of how it was called.
struct Invocation {
    int argc;
    char** argv;
    std::string command_line;  // quoted, for the record
    std::span<const AppEntry> apps;
};

// What the chosen subcommand does once everything has been parsed. Throws Error.
using Action = std::function<ExitCode(const Invocation&)>;

// Each adds its subcommand; when that is the one chosen, parsing sets `action`.
void add_run(CLI::App& cli, Action& action);
void add_plan(CLI::App& cli, Action& action);
void add_show(CLI::App& cli, Action& action);
void add_plot(CLI::App& cli, Action& action);
void add_help(CLI::App& cli, Action& action);
void add_bench(CLI::App& cli, Action& action);
void add_bench_comm(CLI::App& bench, Action& action);
void add_bench_llm(CLI::App& bench, Action& action);
void add_hosts(CLI::App& cli, Action& action);
void add_submit(CLI::App& cli, Action& action);
void add_status(CLI::App& cli, Action& action);
void add_model(CLI::App& cli, Action& action);
void add_eval(CLI::App& model, Action& action);
void add_generate(CLI::App& cli, Action& action);
void add_chat(CLI::App& cli, Action& action);

// JOB and --set, which run, plan and submit share.
void add_job_options(CLI::App& command, RunOptions& run);

// Of an option for a file or a folder: refuses "".
CLI::Validator some_name();

// This rank, as the launcher tells it before MPI has started: so that help and errors about the arguments are
// printed once.
int launched_rank();

// `action` for what is for one process: if started as several ranks, the others leave at once.
Action on_first_rank(std::function<ExitCode(const Invocation&)> action);

// Runs `body` on all ranks; it may throw whatever its rank meets.
ExitCode with_mpi(const Invocation& invocation, const std::function<ExitCode(const MpiSession&)>& body);

}  // namespace voltpile::cli
