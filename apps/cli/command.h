// The commands of the program: each has one file and one function that adds it to the parser.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "comm/mpi/session.h"
#include "run/runner.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace voltpile::cli {

// How the program was called.
struct Invocation {
    int argc;
    char** argv;
    std::string command_line;  // quoted for a shell, for the provenance of results
    std::span<const AppEntry> apps;
};

// What the chosen command does once all arguments are parsed. Throws Error.
using Action = std::function<ExitCode(const Invocation&)>;

// Each of these adds a command to `cli`; parsing sets `action` if the user chose that command.
void add_run(CLI::App& cli, Action& action);
void add_launch(CLI::App& cli, Action& action);
void add_plan(CLI::App& cli, Action& action);
void add_list(CLI::App& cli, Action& action);
void add_show(CLI::App& cli, Action& action);
void add_verify(CLI::App& cli, Action& action);
void add_repair(CLI::App& cli, Action& action);
void add_export(CLI::App& cli, Action& action);
void add_view(CLI::App& cli, Action& action);
void add_compare(CLI::App& cli, Action& action);
void add_plot(CLI::App& cli, Action& action);
void add_help(CLI::App& cli, Action& action);
void add_bench(CLI::App& cli, Action& action);
void add_bench_comm(CLI::App& bench, Action& action);
void add_bench_llm(CLI::App& bench, Action& action);
void add_bench_serve(CLI::App& bench, Action& action);
void add_calibrate(CLI::App& cli, Action& action);
void add_hosts(CLI::App& cli, Action& action);
void add_check(CLI::App& cli, Action& action);
void add_topo(CLI::App& cli, Action& action);
void add_submit(CLI::App& cli, Action& action);
void add_status(CLI::App& cli, Action& action);
void add_top(CLI::App& cli, Action& action);
void add_cancel(CLI::App& cli, Action& action);
void add_clean(CLI::App& cli, Action& action);
void add_model(CLI::App& cli, Action& action);
void add_eval(CLI::App& model, Action& action);
void add_generate(CLI::App& cli, Action& action);
void add_chat(CLI::App& cli, Action& action);
void add_serve(CLI::App& cli, Action& action);
void add_tokenize(CLI::App& cli, Action& action);
void add_manual(CLI::App& cli, Action& action);
void add_completion(CLI::App& cli, Action& action);

// "batch_invariant": "--batch-invariant", the option of a field of one of the tables of settings.
std::string option_name(std::string_view field);

// Adds JOB and --set, which run, plan and submit share.
void add_job_options(CLI::App& command, RunOptions& run);

// Reads a job file that is a pipe (/dev/stdin) into run.job_text, on the first rank: it can be read only
// once.
void keep_piped_job(RunOptions& run);

// A check for options that take a file or a folder: rejects "".
CLI::Validator some_name();

// The same for a result that is to be read: also rejects the address file of a server, which has none.
CLI::Validator some_result();

// Replaces the name of a file that comes with the program by its path: see find_shipped. folder: as there.
CLI::Validator shipped_file(const std::string& folder);

// Returns the number of this rank as the launcher sets it before MPI starts, 0 without a launcher. Help and
// errors in the arguments are printed on rank 0 only.
int launched_rank();

// Wraps an action that one process does: other ranks return Done at once.
Action on_first_rank(std::function<ExitCode(const Invocation&)> action);

// Starts MPI and runs `body` on all ranks. An AgreedError is printed once, by rank 0; any other exception
// ends all ranks.
ExitCode with_mpi(const Invocation& invocation, const std::function<ExitCode(const MpiSession&)>& body);

}  // namespace voltpile::cli
