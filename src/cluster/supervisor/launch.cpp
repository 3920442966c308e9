#include "cluster/supervisor/launch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/format.h"
#include "base/host_name.h"
#include "base/seconds_since.h"
#include "cluster/slurm/allocation.h"
#include "cluster/supervisor/job_attempts.h"
#include "cluster/supervisor/rank_output.h"
#include "job/job_spec.h"
#include "results/parts/life.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;

struct Place {
    std::vector<HostEntry> hosts;
    Starter starter = Starter::Mpirun;
    bool by_slurm = false;
};

Place find_place(const LaunchRequest& request) {
    const std::optional<Allocation> allocation = this_allocation();
    const bool listed = !request.hosts_file.empty() || !request.host_list.empty();
    Place place;
    if (allocation && listed)
        throw JobError(
            "--hosts and --host are for clusters without Slurm: inside an allocation its nodes are used");
    if (allocation) {
        place.hosts = allocation->nodes;
        place.by_slurm = true;
        if (srun_supports_pmix()) place.starter = Starter::Srun;
    } else if (!request.hosts_file.empty()) {
        place.hosts = load_host_file(request.hosts_file);
    } else if (!request.host_list.empty()) {
        place.hosts = parse_host_list(request.host_list);
    } else {
        place.hosts.emplace_back().name = host_name();
    }
    if (request.ranks > 0)
        for (HostEntry& host : place.hosts) host.slots = request.ranks;
    return place;
}

const AppEntry& app_of(const JobSpec& job, std::span<const AppEntry> apps) {
    return *std::ranges::find_if(apps, [&](const AppEntry& entry) { return entry.schema.name == job.app(); });
}

// Without some of its nodes a model may not fit the cut that its job file asks for, so Voltpile chooses one.
std::vector<std::string> automatic_cut(const JobSpec& job, const AppSchema& schema) {
    std::vector<std::string> options;
    for (const std::string key : {"engine.tensor", "engine.pipeline", "engine.replicas"})
        if (std::ranges::find(schema.keys, key, &KeySpec::path) != schema.keys.end() && job.integer(key) != 0)
            options.insert(options.end(), {"--set", key + "=0"});
    return options;
}

JobCommand make_command(const RunOptions& run, const std::string& program, std::span<const AppEntry> apps) {
    std::vector<AppSchema> schemas;
    for (const AppEntry& entry : apps) schemas.push_back(entry.schema);
    const JobSpec spec = load_job(run.job_path, run.overrides, schemas);
    const AppEntry& app = app_of(spec, apps);
    JobCommand job;
    job.words = {program, "run", run.job_path};
    for (const std::string& setting : run.overrides) job.words.insert(job.words.end(), {"--set", setting});
    fs::path named;
    if (app.make_service) {
        named = DescribedJob(apps, run).service()->address_file();  // refuses options about a result
    } else {
        named = result_path(run, spec);
        job.result = fs::absolute(named).lexically_normal();
    }
    if (!run.output.empty()) job.words.insert(job.words.end(), {"--output", run.output.string()});
    if (!run.jsonl.empty()) job.words.insert(job.words.end(), {"--jsonl", run.jsonl.string()});
    job.on_fewer_nodes = automatic_cut(spec, app.schema);
    if (run.fresh) job.first_only = {"--fresh"};
    job.log_folder = fs::absolute(named).lexically_normal().string() + ".log";
    return job;
}

void print_news(const std::string& line) {
    print_line("launch: " + line);
}

void print_launch_summary(const LaunchSummary& summary, double seconds, const fs::path& logs) {
    double computing = 0;
    for (const AttemptRecord& attempt : summary.attempts) computing += attempt.end.seconds;
    const std::size_t count = summary.attempts.size();
    print_news(fmt::format("{} after {} attempt{} in {}, {} of them between attempts",
                           summary.code == ExitCode::Done ? "done" : "not done: " + summary.why, count,
                           count == 1 ? "" : "s", duration_text(seconds),
                           duration_text(std::max(0.0, seconds - computing))));
    for (std::size_t i = 0; i < count; ++i) {
        const AttemptRecord& attempt = summary.attempts[i];
        print_line(fmt::format("  {}  {:>10}  {}  {}", i + 1, duration_text(attempt.end.seconds),
                               fmt::join(attempt.nodes, ", "), attempt.end.what));
        if (!attempt.end.verdict.empty()) print_line("      " + attempt.end.verdict);
    }
    for (const ExcludedNode& node : summary.excluded)
        print_line(fmt::format("  without {}: {}", node.name, node.why));
    if (count > 0) print_line("logs: " + logs.string());
}

}  // namespace

ExitCode launch(const LaunchRequest& request, std::span<const AppEntry> apps) {
    const auto begin = std::chrono::steady_clock::now();
    const std::string program = fs::read_symlink("/proc/self/exe");
    const JobCommand job = make_command(request.run, program, apps);
    const Place place = find_place(request);
    std::signal(SIGPIPE, SIG_IGN);  // a reader of stdout that leaves does not end the job
    StopSignals signals;
    const std::string mark = random_nonce();
    const JobAttempts* running = nullptr;
    LaunchNodes nodes({place.hosts, place.by_slurm, program, mark, [&](const std::string&) {
                           if (running ? running->may_abort() : signals.received() > 0)
                               throw Error(ExitCode::Stopped, "stopped");
                       }});
    JobAttempts attempts(nodes, place.starter, job, mark, signals);
    running = &attempts;
    const LaunchSummary summary = supervise(attempts, request.patience, print_news);
    print_launch_summary(summary, seconds_since(begin), job.log_folder);
    return summary.code;
}

}  // namespace voltpile
