#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/format.h"
#include "cli/command.h"
#include "results/damage.h"
#include "results/repair.h"

namespace voltpile::cli {
namespace {

struct RepairOptions {
    std::string file;
    bool dry_run = false;
};

ExitCode repair(const RepairOptions& options, const std::string& command_line) {
    const RepairMode mode = options.dry_run ? RepairMode::Preview : RepairMode::Do;
    const Repair made = repair_result(options.file, mode, command_line);
    for (const std::string& each : made.done) fmt::print("{}\n", each);
    if (made.done.empty() && made.left.empty()) fmt::print("{}: nothing to repair\n", options.file);
    if (made.missing > 0)
        fmt::print("{}: {} of {} are missing; the job's command computes just these\n", options.file,
                   count_text(made.missing), points_text(made.points));
    if (made.left.empty()) return ExitCode::Done;
    std::vector<std::string> problems;
    for (const std::string& each : made.left) problems.push_back(naming_result(options.file, each));
    throw Error(ExitCode::Failed, fmt::format("{}", fmt::join(problems, "\n")));
}

}  // namespace

void add_repair(CLI::App& cli, Action& action) {
    CLI::App* command =
        cli.add_subcommand("repair", "repair a damaged result, or the parts of an unfinished one");
    auto options = std::make_shared<RepairOptions>();
    command->add_option("FILE", options->file, "result file (.h5), finished or not")
        ->required()
        ->check(some_result());
    command->add_flag("--dry-run", options->dry_run, "say what would be done, and change nothing");
    command->footer(
        "Moves damaged, foreign and overlapping parts aside, removes what dead runs left, and writes the "
        "result\n"
        "if its parts are complete. Of a damaged result file, keeps the intact points as parts, so that the "
        "job's\n"
        "command computes just the others; the file stays until then. Exit code 0: no damage is left; 4: "
        "stderr\n"
        "says what cannot be repaired; 2: there is no such result; 3: a run is writing it.\n"
        "example: voltpile repair results/seed_map.h5 --dry-run");
    command->callback([options, &action] {
        action = on_first_rank(
            [options](const Invocation& invocation) { return repair(*options, invocation.command_line); });
    });
}

}  // namespace voltpile::cli
