#include "run/runner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/unix_time.h"
#include "job/power_keys.h"
#include "job/watchdog_keys.h"
#include "plan/links.h"
#include "results/admission.h"
#include "results/json_lines.h"
#include "results/output_file.h"
#include "results/parts/background_consolidation.h"
#include "run/agreement.h"
#include "run/check.h"
#include "run/finish_job.h"
#include "run/forced_stop.h"
#include "run/job_loop.h"
#include "run/power_guard.h"
#include "run/power_settings.h"
#include "run/refined_loop.h"
#include "run/result_stores.h"
#include "run/status_board.h"
#include "run/telemetry_recorder.h"
#include "run/watchdog.h"
#include "run/watched_service.h"

namespace voltpile {
namespace {

// Copying in the background needs room for the parts, the result and a margin.
bool room_for_both(const std::filesystem::path& folder, const ResultLayout& layout) {
    std::error_code error;
    const auto space = std::filesystem::space(folder, error);
    const double needed =
        2.5 * static_cast<double>(layout.point_count()) * static_cast<double>(layout.bytes_per_point());
    return !error && static_cast<double>(space.available) > needed;
}

// Rank 0. With shards the last one to finish writes the result.
void consolidate_in_background(ResultStores& stores, const ResultLayout& layout,
                               std::optional<BackgroundConsolidation>& consolidation) {
    const PartFolder& folder = stores.folder();
    if (folder.shard().is_whole() && !layout.refinement && room_for_both(folder.path(), layout))
        consolidation.emplace(folder.life(), layout, stores.parts_here());
}

void print_start(const PreparedJob& job, const std::filesystem::path& result, ResultStores& stores) {
    const Plan& plan = job.plan;
    const PartFolder& folder = stores.folder();
    const std::int64_t points = folder.interval().size();
    fmt::print("{}: {}{}, about {:.3g} {}, on {} rank{} -> {}\n", job.spec.name(),
               folder.shard().is_whole() ? "" : folder.shard().text() + " with ", points_text(points),
               static_cast<double>(points) * plan.workload.units_per_point, plan.workload.unit,
               plan.ranks.size(), plan.ranks.size() == 1 ? "" : "s", result.string());
    if (!stores.completed().empty())
        fmt::print("resuming: {} of {} are done already\n", count_text(stores.completed().size()),
                   points_text(points));
    if (const auto& apart = stores.hosts_apart(); !apart.empty())
        fmt::print("results: {} do{} not see {}: parts stay on {} and are gathered at the end\n",
                   fmt::join(apart, ", "), apart.size() == 1 ? "es" : "", folder.path().string(),
                   apart.size() == 1 ? "its own disk" : "their own disks");
    if (plan.topology.hosts.size() > 1) fmt::print("transport: {}\n", transports_text(plan.topology));
    for (const std::string& warning : plan.warnings) spdlog::warn("{}", warning);
    std::fflush(stdout);
}

std::string title(const JobSpec& spec, const Shard& shard) {
    return shard.is_whole() ? spec.name() : spec.name() + " " + shard.text();
}

void write_lines_too(const std::filesystem::path& lines, const std::filesystem::path& result) {
    write_json_lines(lines, ResultReader(result));
    fmt::print("lines: {}\n", lines.string());
}

ExitCode end_complete(const Communicator& world, const std::filesystem::path& result) {
    if (world.rank() == 0) fmt::print("{}\n", complete_text(result));
    return ExitCode::Done;
}

LiveJob live_job(const Plan& plan, std::string line, const ProgressState& state,
                 const std::vector<RankProgress>& ranks) {
    LiveJob job{std::move(line), unix_time(), state.elapsed_s, {}};
    for (std::size_t r = 0; r < ranks.size(); ++r)
        job.ranks.push_back({plan.host_of(plan.ranks[r]).name, processor_text(plan, plan.ranks[r]),
                             ranks[r].points, ranks[r].units, ranks[r].busy_s});
    return job;
}

ExitCode run_opened(const MpiSession& mpi, StopSignals& signals, OpenedJob opened,
                    const std::filesystem::path& result, const RunOptions& options) {
    const Communicator& world = mpi.world();
    std::optional<ForcedStop> forced_stop(std::in_place, mpi, signals);
    const ResultLayout layout = agreed([&] { return opened.app->layout(opened.spec); });
    const Claim claim{options.shard, options.take_over, this_run()};
    if (admit_run(world, result, layout, {options.fresh, claim}) == Admission::Verdict::Complete)
        return end_complete(world, result);

    PreparedJob job = plan_job(world, std::move(opened));
    const Watchdog watchdog(mpi, job.plan, watchdog_deadlines(job.spec));
    ResultStores stores(world, result, layout, options.fresh, claim);
    if (stores.complete()) return end_complete(world, result);  // other shards have finished it meanwhile
    std::optional<BackgroundConsolidation> consolidation;       // on rank 0
    if (world.rank() == 0) {
        print_start(job, result, stores);
        consolidate_in_background(stores, layout, consolidation);
    }
    const PowerSettings settings(world, job);
    const std::unique_ptr<NodeMonitor> monitor = start_monitor(world, job.spec);
    PowerGuard guard(world, job, monitor.get(), settings.clocks());
    if (guard.duty()) job.app->keep_to(*guard.duty());
    job.app->connect(mpi);
    const LoopTask task{title(job.spec, options.shard), options.shard.interval(layout.point_count()),
                        stores.completed()};
    forced_stop.reset();  // the loop looks for signals itself
    const Life life = stores.life();
    TelemetryRecorder telemetry(world, job.plan, telemetry_request(job.spec), &life, monitor.get(), &guard);
    StatusBoard board(world.rank(), job, stores.life(), monitor.get());
    ProgressMeter meter(task.title, job.plan.workload.unit);
    const LoopHooks hooks{[&](int rank, WorkRange range) {
                              if (stores.committed(rank, range) && consolidation)
                                  consolidation->committed(range);
                          },
                          [&] { consolidation.reset(); }, [&] { telemetry.tick(); },
                          [&](const ProgressState& state, const auto& ranks) {
                              board.set(live_job(job.plan, meter.line(state), state, ranks));
                          }};
    LoopOutcome outcome = layout.refinement
                              ? run_refined_loop(mpi, signals, job, layout, stores, task, hooks)
                              : run_job_loop(mpi, signals, job, layout, stores.life(), task, hooks);

    // From here on one signal changes nothing: the result is being written, or the job stops already. Rank 0
    // answers a second one, because it knows when the result is committed.
    if (world.rank() == 0) forced_stop.emplace(mpi, signals);
    outcome.power = telemetry.finish();
    job.app->disconnect();
    if (world.rank() != 0) {
        const ExitCode code = stores.await_outcome();
        if (code != ExitCode::Done && code != ExitCode::Stopped)
            throw_agreed(code, "rank 0 could not finish");
        return code;
    }
    try {
        const ExitCode code =
            finish_job(job, options, result, layout, outcome, stores, consolidation, *forced_stop);
        stores.tell_outcome(code);
        return code;
    } catch (const Error& error) {
        stores.tell_outcome(error.exit_code());
        throw_agreed(error.exit_code(), error.what());
    }
}

// Runs the job, and then its check if it asks for one.
ExitCode run_and_check(const MpiSession& mpi, StopSignals& signals, OpenedJob opened,
                       const std::filesystem::path& result, const RunOptions& options) {
    std::optional<ResultCheckTask> check = ResultCheckTask::make(*opened.app, opened.spec, result);
    const JobSpec spec = opened.spec;
    const ExitCode code = run_opened(mpi, signals, std::move(opened), result, options);
    if (code != ExitCode::Done || !check || !check->is_due(mpi.world())) return code;
    RunOptions check_options = options;
    check_options.fresh = false;
    check_options.shard = {};
    const ExitCode check_code =
        run_opened(mpi, signals, {spec, check->take_app(), nullptr}, check->place(), check_options);
    if (check_code == ExitCode::Done) check->store(mpi.world());
    return check_code;
}

// Throws AgreedError if the result is there and its app finds nothing of use in it.
void judge_result(const Communicator& world, std::span<const AppEntry> apps, const JobSpec& spec,
                  const std::filesystem::path& result) {
    const auto entry =
        std::ranges::find(apps, spec.app(), [](const AppEntry& app) { return app.schema.name; });
    if (entry == apps.end() || !entry->judge) return;
    decide_on_root(world, [&] {
        // Other shards may still be running.
        if (result_source(result) == ResultSource::File) entry->judge(spec, result);
        return std::string();
    });
}

ExitCode run_service(const MpiSession& mpi, StopSignals& signals, OpenedJob opened) {
    const PreparedJob job = plan_job(mpi.world(), std::move(opened));
    if (mpi.world().rank() == 0 && job.plan.topology.hosts.size() > 1)
        fmt::print("transport: {}\n", transports_text(job.plan.topology));
    const PowerSettings settings(mpi.world(), job);
    const std::unique_ptr<NodeMonitor> monitor = start_monitor(mpi.world(), job.spec);
    PowerGuard guard(mpi.world(), job, monitor.get(), settings.clocks());
    if (guard.duty()) job.service->keep_to(*guard.duty());
    std::fflush(stdout);
    watch_service(mpi.world(), job.plan, telemetry_request(job.spec), job.service->address_file(),
                  monitor.get(), &guard,
                  [&](NodeWatch* watch) { return job.service->serve(mpi, signals, watch); });
    return ExitCode::Stopped;
}

}  // namespace

ExitCode run_job(const MpiSession& mpi, StopSignals& signals, std::span<const AppEntry> apps,
                 const RunOptions& options) {
    const Communicator& world = mpi.world();
    std::signal(SIGPIPE, SIG_IGN);  // a reader of stdout that leaves does not end the job
    OpenedJob job = open_job(world, apps, options);
    if (job.service) return run_service(mpi, signals, std::move(job));
    const std::filesystem::path result = result_path(options, job.spec);
    const JobSpec spec = job.spec;
    if (options.jsonl.empty()) {
        const ExitCode code = run_and_check(mpi, signals, std::move(job), result, options);
        if (code == ExitCode::Done) judge_result(world, apps, spec, result);
        return code;
    }
    decide_on_root(world, [&] {
        std::vector<std::filesystem::path> kept{result, job.spec.path()};
        const ResultLayout layout = job.app->layout(job.spec);
        for (const JobInput& input : layout.inputs) kept.emplace_back(input.name);
        const auto is_own = [&](const std::filesystem::path& path) { return is_json_lines_of(path, layout); };
        check_output_file(options.jsonl, "--jsonl", {"voltpile run --jsonl of this job", is_own}, kept);
        return std::string();
    });
    const ExitCode code = run_and_check(mpi, signals, std::move(job), result, options);
    decide_on_root(world, [&] {
        if (code == ExitCode::Done) write_lines_too(options.jsonl, result);
        return std::string();
    });
    if (code == ExitCode::Done) judge_result(world, apps, spec, result);
    return code;
}

}  // namespace voltpile
