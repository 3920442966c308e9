#include "cluster/slurm/submit.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/format.h"
#include "base/process.h"
#include "cluster/slurm/queue.h"
#include "cluster/slurm/script.h"
#include "cluster/slurm/submit_plan.h"
#include "plan/cluster_file.h"
#include "results/admission.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;

SubmitPaths paths_of(const SubmitRequest& request, const DescribedJob& described) {
    SubmitPaths paths;
    paths.service = described.service() != nullptr;
    paths.program = fs::read_symlink("/proc/self/exe");
    paths.folder = fs::current_path();
    const fs::path file = described.service() ? described.service()->address_file()
                                              : result_path(request.run, described.spec());
    paths.result = fs::absolute(file).lexically_normal();
    return paths;
}

// Checks what the job would refuse on its nodes, before it waits in the queue. Returns whether anything is
// left to do.
bool check_result(const SubmitRequest& request, const fs::path& result, const ResultLayout& layout) {
    std::error_code error;
    const fs::path folder = result.parent_path();
    if (!request.run.output.empty() && result.has_filename() && !fs::is_directory(folder, error))
        throw JobError(
            fmt::format("--output: there is no folder {}: make it, on a file system that all nodes see",
                        folder.string()));
    const Admission admission = admit(result, layout, {});
    admission.throw_if_refused();
    if (!admission.busy.empty() && request.dependency.empty()) spdlog::warn("{}", admission.busy);
    if (admission.verdict != Admission::Verdict::Complete) return true;
    // --dry-run prints a script on stdout.
    if (request.dry_run)
        spdlog::info("{}", admission.message);
    else
        fmt::print("{}\n", admission.message);
    return false;
}

NodeSpeeds read_speeds(const fs::path& file, const SlurmMachine& machine) {
    NodeSpeeds speeds;
    if (file.empty()) return speeds;
    speeds.described = load_cluster(file.string(), 1).hosts;
    const bool any = std::any_of(speeds.described.begin(), speeds.described.end(), [&](const Host& host) {
        return std::any_of(machine.nodes.begin(), machine.nodes.end(),
                           [&](const SlurmNode& node) { return node.name == host.name; });
    });
    if (!any)
        throw JobError(fmt::format("{}: none of its hosts ({}, ...) is a node of this Slurm ({}, ...)",
                                   file.string(), speeds.described.front().name,
                                   machine.nodes.empty() ? "it has none" : machine.nodes.front().name));
    return speeds;
}

void warn_of_twins(const SubmitRequest& request, const SubmitPaths& paths) {
    if (!request.dependency.empty()) return;
    for (const QueuedJob& job : read_my_queue())
        if (job.result == paths.result && (job.waiting() || job.running()))
            spdlog::warn("job {} ({}) writes the same {}", job.id, job.state,
                         paths.service ? "address file" : "result: one of the two will be refused");
}

std::string shape_text(const SubmitPlan& plan) {
    const Layout& layout = plan.layout;
    std::string text =
        fmt::format("{} node{} of {} x {} rank{}", layout.nodes.size(), layout.nodes.size() == 1 ? "" : "s",
                    plan.partition, layout.share.ranks, layout.share.ranks == 1 ? "" : "s");
    text += layout.share.gpus > 0
                ? fmt::format(", {} GPU{} a node", layout.share.gpus, layout.share.gpus == 1 ? "" : "s")
                : fmt::format(", {} cores a node", layout.share.cores);
    if (plan.array > 0) text = fmt::format("{} elements on {}", plan.array, text);
    return text;
}

std::string submit_script(const std::string& script) {
    const ProcessResult result = run_process({{"sbatch", "--parsable"}, script, {}, std::chrono::minutes(2)});
    if (result.timed_out)
        throw MachineError(
            "sbatch has not ended within 2 min: check with squeue whether the job was submitted");
    if (result.exit_code != 0)
        throw MachineError(fmt::format("refused by Slurm: {}", trimmed(result.err + result.out)));
    if (!trimmed(result.err).empty()) spdlog::warn("{}", trimmed(result.err));
    return trimmed(result.out.substr(0, result.out.find(';')));
}

// Slurm takes the user's default partition from this variable.
SubmitRequest with_defaults(SubmitRequest request) {
    const char* partition = std::getenv("SBATCH_PARTITION");
    if (request.partition.empty() && partition) request.partition = partition;
    for (fs::path* file : {&request.environment, &request.cluster}) {
        std::error_code error;
        if (file->empty()) continue;
        *file = fs::absolute(*file).lexically_normal();
        if (!fs::is_regular_file(*file, error)) throw JobError(file->string() + ": there is no such file");
    }
    return request;
}

}  // namespace

void submit(const SubmitRequest& asked, std::span<const AppEntry> apps) {
    const SubmitRequest request = with_defaults(asked);
    const DescribedJob described(apps, request.run);
    const JobSpec& job = described.spec();
    const SubmitPaths paths = paths_of(request, described);
    JobExtent extent;
    if (described.service()) {
        if (request.array)
            throw JobError(fmt::format("--array: the app {} has no points to share", job.app()));
        extent.stop_s = described.service()->stop_seconds();
    } else {
        const ResultLayout layout = described.layout();
        if (!check_result(request, paths.result, layout)) return;
        extent.points = layout.point_count();
    }
    require_slurm("sbatch");
    const SlurmMachine machine = read_machine();
    const Planner planner = [&](const Topology& topology) { return described.plan(topology); };
    const SubmitPlan plan =
        plan_submission(request, job, extent, machine, read_speeds(request.cluster, machine), planner);
    const std::string script = batch_script(plan, request, paths);
    for (const std::string& note : plan.notes) spdlog::info("{}", note);
    warn_of_twins(request, paths);

    const std::string estimate =
        extent.stop_s ? "" : fmt::format(" estimate {},", duration_text(plan.estimate_s));
    const std::string summary =
        fmt::format("{};{} limit {}", shape_text(plan), estimate, slurm_time_text(plan.time.limit_s));
    if (request.dry_run) {
        std::error_code error;
        if (!fs::is_directory(paths.result.parent_path(), error))
            spdlog::warn("make the folder {} before you submit this: Slurm writes the log there",
                         paths.result.parent_path().string());
        spdlog::info("{}", summary);
        fmt::print("{}", script);
        return;
    }
    fs::create_directories(paths.result.parent_path());  // Slurm does not create the folder of its log
    const std::string id = submit_script(script);
    fmt::print("job     {} {}: {}\n{:<7} {}\nlog     {}\nfollow  voltpile status {}\n", id, plan.job_name,
               summary, extent.stop_s ? "address" : "result", paths.result.string(),
               paths.log_of(id, plan.array > 0), id);
}

}  // namespace voltpile
