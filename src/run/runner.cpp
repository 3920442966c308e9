#include "run/runner.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <optional>
#include <thread>

#include "base/format.h"
#include "results/background_consolidation.h"
#include "results/consolidate.h"
#include "results/part_folder.h"
#include "run/agreement.h"
#include "run/job_loop.h"
#include "run/provenance.h"

namespace voltpile {
namespace {

constexpr int outcome_tag = grant_tag + 1;

std::filesystem::path result_path(const RunOptions& options, const JobSpec& spec) {
    if (!options.output.empty()) return options.output;
    return std::filesystem::path("results") / (spec.name() + ".h5");
}

// Rank 0's hold on the result while the job runs.
struct OpenResult {
    std::optional<PartFolder> folder;
    PartScan scan;
    std::optional<BackgroundConsolidation> consolidation;
};

// A run that was killed between giving the result its name and removing the parts.
void remove_left_over_parts(const std::filesystem::path& result, const ResultLayout& layout) {
    if (!std::filesystem::exists(parts_path(result))) return;
    try {
        PartFolder(result, layout, PartFolder::IfOther::Refuse).remove();
    } catch (const Error& error) {
        spdlog::warn("{}", error.what());
    }
}

// Copying in the background needs room for the parts and the result at once, and some to spare.
bool room_for_both(const std::filesystem::path& folder, const ResultLayout& layout) {
    std::error_code error;
    const auto space = std::filesystem::space(folder, error);
    const double needed =
        2.5 * static_cast<double>(layout.point_count()) * static_cast<double>(layout.bytes_per_point());
    return !error && static_cast<double>(space.available) > needed;
}

// Returns "complete" if there is nothing to do, else "run".
std::string open_result(const std::filesystem::path& result, const ResultLayout& layout, bool fresh,
                        OpenResult& open) {
    const bool replaces = fresh || parts_replace_result(result, layout.fingerprint);
    switch (inspect_result(result, layout.fingerprint)) {
        case ResultState::Complete:
            if (replaces) break;
            remove_left_over_parts(result, layout);
            return "complete";
        case ResultState::OtherJob:
            if (replaces) break;
            throw JobError(fmt::format(
                "{} holds the result of another job; choose another --output, or --fresh to replace it",
                result.string()));
        case ResultState::NotOurs:
            throw JobError(fmt::format(
                "{} exists and was not written by voltpile: it stays as it is; choose another --output",
                result.string()));
        case ResultState::Absent:
            break;
    }
    open.folder.emplace(result, layout, fresh ? PartFolder::IfOther::Discard : PartFolder::IfOther::Refuse);
    open.scan = scan_parts(open.folder->path(), layout);
    for (const RejectedPart& part : open.scan.rejected)
        spdlog::warn("{}: {}; moved aside, its range is computed again", part.path.string(), part.reason);
    if (room_for_both(open.folder->path(), layout))
        open.consolidation.emplace(result, open.folder->path(), layout, open.scan.parts);
    return "run";
}

void print_start(const PreparedJob& job, const std::filesystem::path& result, const PartScan& scan) {
    const Plan& plan = job.plan;
    fmt::print("{}: {} points, at most {:.3g} {}, on {} rank{} -> {}\n", job.spec.name(),
               count_text(plan.workload.points),
               static_cast<double>(plan.workload.points) * plan.workload.units_per_point, plan.workload.unit,
               plan.ranks.size(), plan.ranks.size() == 1 ? "" : "s", result.string());
    if (!scan.completed.empty())
        fmt::print("resuming: {} of {} points are done already\n", count_text(scan.completed.size()),
                   count_text(plan.workload.points));
    for (const std::string& warning : plan.warnings) spdlog::warn("{}", warning);
    std::fflush(stdout);
}

void print_summary(const PreparedJob& job, const LoopOutcome& outcome) {
    std::int64_t points = 0;
    double units = 0;
    for (const RankProgress& each : outcome.ranks) {
        points += each.points;
        units += each.units;
    }
    fmt::print("{} points in {}: {:.4g} {}, {:.4g} {}/s\n", count_text(points),
               duration_text(outcome.seconds), units, job.plan.workload.unit, units / outcome.seconds,
               job.plan.workload.unit);
    fmt::print("{:>5}  {:<16} {:<52} {:>7} {:>7}\n", "rank", "host", "computed on", "share", "busy");
    for (std::size_t r = 0; r < outcome.ranks.size(); ++r) {
        const RankPlan& rank = job.plan.ranks[r];
        const RankProgress& did = outcome.ranks[r];
        fmt::print("{:>5}  {:<16} {:<52} {:>5.1f} % {:>5.1f} %\n", r, job.plan.host_of(rank).name,
                   processor_text(job.plan, rank), units > 0 ? 100 * did.units / units : 0.0,
                   100 * did.busy_s / outcome.seconds);
    }
}

// Rank 0, after all ranks have finished: what the job has come to.
ExitCode finish(const PreparedJob& job, const RunOptions& options, const std::filesystem::path& result,
                const ResultLayout& layout, const LoopOutcome& outcome, OpenResult& open) {
    const Provenance provenance = make_provenance(job.plan, options.command_line);
    const bool published = outcome.complete && open.consolidation && open.consolidation->publish(provenance);
    if (!published) {
        open.consolidation.reset();
        // Not from memory but from the folder: what cannot be read back does not count as done.
        const PartScan scan = scan_parts(open.folder->path(), layout);
        for (const RejectedPart& part : scan.rejected)
            spdlog::error("{}: {}; moved aside", part.path.string(), part.reason);
        if (!scan.completed.contains(layout.whole())) {
            print_summary(job, outcome);
            if (outcome.complete)
                throw FileError(
                    fmt::format("{} lacks parts that had been committed; run the same command again",
                                open.folder->path().string()));
            fmt::print("stopped: {} of {} points are done; run the same command again{} to go on\n",
                       count_text(scan.completed.size()), count_text(layout.point_count()),
                       options.fresh ? ", without --fresh," : "");
            return ExitCode::Stopped;
        }
        try {
            consolidate(result, layout, scan.parts, provenance);
        } catch (const FileError& error) {
            throw FileError(fmt::format("{}; all that was computed is kept: run the same command again{}",
                                        error.what(), options.fresh ? ", without --fresh" : ""));
        }
    }
    print_summary(job, outcome);
    open.folder->remove();
    std::error_code ignored;
    fmt::print("result: {} ({})\n", result.string(),
               bytes_text(static_cast<double>(std::filesystem::file_size(result, ignored))));
    return ExitCode::Done;
}

// Rank 0 tells the others how it ended. They look for the news now and then: consolidating may take a while,
// and an MPI collective would burn their cores for as long.
void tell_outcome(const Communicator& world, ExitCode code) {
    for (int rank = 1; rank < world.size(); ++rank)
        world.send(rank, outcome_tag, std::string(1, static_cast<char>(code)));
}

ExitCode await_outcome(const Communicator& world) {
    for (;;) {
        while (world.poll(grant_tag)) {  // may have been under way when this rank finished
        }
        if (auto message = world.poll(outcome_tag)) return static_cast<ExitCode>(message->bytes.at(0));
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

}  // namespace

ExitCode run_job(const MpiSession& mpi, StopSignals& signals, std::span<const AppEntry> apps,
                 const RunOptions& options) {
    const Communicator& world = mpi.world();
    PreparedJob job = prepare_job(world, apps, options);
    const std::filesystem::path result = result_path(options, job.spec);
    const ResultLayout layout = make_layout(job.spec, job.app->fields());

    OpenResult open;  // rank 0 only
    const std::string todo =
        decide_on_root(world, [&] { return open_result(result, layout, options.fresh, open); });
    if (todo == "complete") {
        if (world.rank() == 0)
            fmt::print("{} is complete already; --fresh computes it again\n", result.string());
        return ExitCode::Done;
    }
    if (world.rank() == 0) print_start(job, result, open.scan);

    const LoopOutcome outcome =
        run_job_loop(mpi, signals, job, layout, parts_path(result), open.scan.completed,
                     {[&open](WorkRange range) {
                          if (open.consolidation) open.consolidation->committed(range);
                      },
                      [&open] { open.consolidation.reset(); }});

    signals.release();  // all is committed: from here on nothing can be lost
    if (world.rank() != 0) {
        const ExitCode code = await_outcome(world);
        if (code != ExitCode::Done && code != ExitCode::Stopped)
            throw AgreedError(code, "rank 0 could not finish");
        return code;
    }
    try {
        const ExitCode code = finish(job, options, result, layout, outcome, open);
        tell_outcome(world, code);
        return code;
    } catch (const Error& error) {
        tell_outcome(world, error.exit_code());
        throw AgreedError(error.exit_code(), error.what());
    }
}

}  // namespace voltpile
