#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/format.h"
#include "cli/command.h"
#include "cluster/result_listing.h"
#include "cluster/slurm/queue.h"

namespace voltpile::cli {
namespace {

struct CleanArguments {
    std::string folder = ".";
    double days = 7;
    bool yes = false;
};

// A job that Slurm will start again has no run now, but resumes from its parts.
bool is_queued(const FoundResult& found) {
    for (const QueuedJob& job : jobs_that_write(found.result))
        if (!job.ended()) return true;
    return false;
}

bool is_stale(const FoundResult& found, double days) {
    if (!found.writers.empty()) return false;
    if (found.kind == FoundKind::LeftOver) return true;
    return found.kind == FoundKind::Unfinished && found.age_s >= days * 86400 && !is_queued(found);
}

std::string stale_text(const FoundResult& found) {
    const std::string what = found.kind == FoundKind::LeftOver ? "left over, the result is complete"
                             : found.problem.empty()
                                 ? fmt::format("unfinished, {} done", progress_text(found))
                                 : "unfinished, and cannot be read";
    return fmt::format("{}  {}, last change {} ago, {}\n", found.place.string(),
                       bytes_text(static_cast<double>(found.bytes)), duration_text(found.age_s), what);
}

bool is_confirmed(const std::string& question) {
    fmt::print("{} [y/N] ", question);
    std::fflush(stdout);
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y" || answer == "yes";
}

ExitCode clean(const CleanArguments& args) {
    std::vector<FoundResult> stale;
    std::size_t kept = 0, running = 0;
    double bytes = 0;
    FolderListing listing = list_jobs_in(args.folder);
    for (FoundResult& found : listing.results) {
        if (found.kind != FoundKind::Unfinished && found.kind != FoundKind::LeftOver) continue;
        if (!found.writers.empty()) {
            ++running;
        } else if (is_stale(found, args.days)) {
            bytes += static_cast<double>(found.bytes);
            stale.push_back(std::move(found));
        } else {
            ++kept;
        }
    }
    for (const FoundResult& found : stale) fmt::print("{}", stale_text(found));
    if (running > 0) fmt::print("kept: {} in use by a run\n", running);
    if (kept > 0)
        fmt::print("kept: {} unfinished, queued or changed in the last {:g} days (--days 0: at any age)\n",
                   kept, args.days);
    if (stale.empty()) {
        fmt::print("no stale part folders under {}\n", args.folder);
        return ExitCode::Done;
    }
    const std::string count =
        fmt::format("{} part folder{} ({})", stale.size(), stale.size() == 1 ? "" : "s", bytes_text(bytes));
    if (!args.yes && isatty(STDIN_FILENO) != 1)
        throw JobError(fmt::format(
            "not deleting {}: stdin is not a terminal, so nobody can confirm; pass --yes to delete", count));
    if (!args.yes && !is_confirmed("delete " + count + "?")) {
        fmt::print("nothing was deleted\n");
        return ExitCode::Done;
    }
    for (const FoundResult& found : stale) {
        const bool removed = remove_unused_parts(found.place);
        fmt::print("{} {}\n", removed ? "deleted" : "kept, a run has begun:", found.place.string());
    }
    return ExitCode::Done;
}

}  // namespace

void add_clean(CLI::App& cli, Action& action) {
    CLI::App* command = cli.add_subcommand("clean", "delete stale part folders, after asking");
    auto args = std::make_shared<CleanArguments>();
    command
        ->add_option("FOLDER", args->folder, "where to look, with all folders below it [the current folder]")
        ->check(some_name());
    command
        ->add_option("--days", args->days,
                     "an unfinished job is stale if nothing has changed for this long; 0: at any age")
        ->check(CLI::Range(0.0, 1e6))
        ->capture_default_str();
    command->add_flag("--yes", args->yes, "do not ask");
    command->footer(
        "A part folder (FILE.parts) is stale if its result is complete, or if its job is unfinished and "
        "nothing\n"
        "has changed for --days; deleting the latter discards computed work. Never deletes results, or part\n"
        "folders that a run is writing to or that a job in Slurm's queue will resume.\n"
        "example: voltpile clean results");
    command->callback(
        [args, &action] { action = on_first_rank([args](const Invocation&) { return clean(*args); }); });
}

}  // namespace voltpile::cli
