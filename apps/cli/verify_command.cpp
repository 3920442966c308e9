#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/format.h"
#include "cli/command.h"
#include "results/verify.h"

namespace voltpile::cli {
namespace {

std::string verification_text(const std::string& file, const Verification& found) {
    std::string text =
        fmt::format("{}: {} of {} intact", file, count_text(found.intact.size()), points_text(found.points));
    if (!found.has_checksums) text += "; no checksums, so the values were only read";
    if (!found.finished && found.ok()) text += "; the job is unfinished, and the same command resumes it";
    return text + "\n";
}

ExitCode verify(const std::string& file) {
    const Verification found = verify_result(file);
    if (found.points > 0) fmt::print("{}", verification_text(file, found));
    if (found.ok()) return ExitCode::Done;
    std::string text;
    for (const std::string& problem : found.problems) {
        if (!text.empty()) text += "\n";
        text += problem.find(file) == std::string::npos ? file + ": " + problem : problem;
    }
    throw Error(ExitCode::Failed, text);
}

}  // namespace

void add_verify(CLI::App& cli, Action& action) {
    CLI::App* command =
        cli.add_subcommand("verify", "read every byte of a result and compare it with its checksums");
    auto file = std::make_shared<std::string>();
    command->add_option("FILE", *file, "result file (.h5), finished or not")
        ->required()
        ->check(some_result());
    command->footer(
        "Changes nothing, and may be used while a run is writing. Exit code 0: all computed values are "
        "intact;\n"
        "4: some are damaged, and stderr names them; 2: there is no such result.\n"
        "example: voltpile verify results/seed_map.h5");
    command->callback(
        [file, &action] { action = on_first_rank([file](const Invocation&) { return verify(*file); }); });
}

}  // namespace voltpile::cli
