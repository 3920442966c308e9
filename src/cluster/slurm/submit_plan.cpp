#include "cluster/slurm/submit_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/format.h"
#include "cluster/slurm/gpu.h"

namespace voltpile {
namespace {

// Memory that the plan does not count: buffers of MPI and the file system, and the host memory of CUDA.
constexpr double rank_extra_mb = 256;
constexpr double gpu_extra_mb = 1024;
constexpr double memory_margin = 1.5;

LayoutNeeds layout_needs(const SubmitRequest& request, const JobSpec& job, double max_time_s,
                         const std::optional<double>& asked_s) {
    LayoutNeeds needs;
    const std::string& device = job.text("run.device");
    needs.device = device == "cpu"   ? DeviceChoice::Cpu
                   : device == "gpu" ? DeviceChoice::Gpu
                                     : DeviceChoice::Auto;
    needs.threads = static_cast<int>(job.integer("run.threads"));
    needs.nodes = request.nodes;
    needs.tasks_per_node = request.tasks_per_node;
    needs.gpus_per_node = request.gpus_per_node;
    needs.target_s = asked_s.value_or(std::min(needs.target_s, max_time_s));
    return needs;
}

// Returns the longest time until a busy rank can stop.
double range_seconds(const Plan& plan, const JobSpec& job) {
    double slowest_point_s = 0;
    for (const double speed : leader_speeds(plan))
        if (speed > 0) slowest_point_s = std::max(slowest_point_s, 1 / speed);
    return std::max(job.real("run.range_seconds"), slowest_point_s);
}

// Returns the memory to request: with a margin, unless that exceeds the node's.
int memory_of_node(const Plan& plan, const SlurmNode& smallest) {
    const std::size_t hosts = plan.topology.hosts.size();
    std::vector<double> needed(hosts), generous(hosts);
    for (const RankPlan& rank : plan.ranks) {
        const auto host = static_cast<std::size_t>(rank.host);
        const double mb = static_cast<double>(rank.memory_bytes) / 1048576;
        needed[host] += mb;
        generous[host] += memory_margin * mb + rank_extra_mb + (rank.gpu >= 0 ? gpu_extra_mb : 0);
    }
    const double most = *std::max_element(needed.begin(), needed.end());
    if (most > smallest.memory_mb)
        throw MachineError(
            fmt::format("the ranks of a node need about {:.0f} MB of memory, but {} has {:.0f} MB", most,
                        smallest.name, smallest.memory_mb));
    const double asked = std::ceil(*std::max_element(generous.begin(), generous.end()) / 100) * 100;
    return static_cast<int>(std::min(asked, smallest.memory_mb));
}

void note_basis(SubmitPlan& plan, const Plan& job_plan, const NodeSpeeds& speeds) {
    std::set<std::string> unknown;
    bool assumed_cpu = false;
    for (const SlurmNode& node : plan.layout.nodes) {
        const bool described = std::any_of(speeds.described.begin(), speeds.described.end(),
                                           [&](const Host& host) { return host.name == node.name; });
        if (described) continue;
        if (plan.layout.share.gpus > 0) {
            for (const GresGpus& kind : node.gpus)
                if (!gpu_of_type(kind.type).known)
                    unknown.insert(kind.type.empty() ? "(no type)" : kind.type);
        } else {
            assumed_cpu = true;
        }
    }
    if (!unknown.empty())
        plan.notes.push_back(fmt::format(
            "the speed of these GPUs is not known: {}; the estimate takes them for {}; --cluster FILE "
            "describes them",
            fmt::join(unknown, ", "), gpu_of_type("").gpu.name));
    if (assumed_cpu)
        plan.notes.push_back(
            "Slurm does not say how fast the processors are: the estimate takes them for 2 GHz with AVX2; "
            "--cluster "
            "FILE describes them");
    for (const std::string& warning : job_plan.warnings) plan.notes.push_back(warning);
}

void note_nodes(SubmitPlan& plan, const SubmitRequest& request, const SlurmMachine& machine) {
    std::vector<std::string> away;
    std::int64_t up = 0;
    for (const SlurmNode& node : machine.nodes) {
        if (std::find(node.partitions.begin(), node.partitions.end(), plan.partition) ==
            node.partitions.end())
            continue;
        if (node.usable())
            ++up;
        else
            away.push_back(fmt::format("{} ({})", node.name, node.state));
    }
    if (std::ssize(plan.layout.nodes) > up)
        plan.notes.push_back(
            fmt::format("the job waits until more nodes are up; not up: {}", fmt::join(away, ", ")));
    if (!request.nodes && plan.layout.nodes_by_target && std::ssize(plan.layout.nodes) < up)
        plan.notes.push_back(fmt::format("{} of {} nodes: enough to finish within {}; --nodes asks for more",
                                         plan.layout.nodes.size(), up,
                                         request.time.empty() ? "an hour" : "--time"));
}

std::optional<double> asked_time(const SubmitRequest& request) {
    if (request.time.empty()) return std::nullopt;
    const auto seconds = parse_slurm_time(request.time);
    if (!seconds || *seconds <= 0)
        throw JobError(fmt::format("--time={}: must be minutes, H:MM:SS, D-HH or D-HH:MM:SS", request.time));
    return std::ceil(*seconds / 60) * 60;  // Slurm rounds the same way
}

int array_elements(const SubmitRequest& request, const SlurmMachine& machine, std::int64_t points) {
    if (!request.array) return 0;
    if (*request.array > points)
        throw JobError(fmt::format("--array={}: the sweep has {} point{}", *request.array, points,
                                   points == 1 ? "" : "s"));
    if (*request.array > machine.max_array_size - 1)
        throw MachineError(fmt::format("--array={}: Slurm allows {} elements here (MaxArraySize - 1)",
                                       *request.array, machine.max_array_size - 1));
    return *request.array;
}

// Of a job that computes this part of the sweep.
double seconds_of(const Plan& plan, double part) {
    return plan.start_s + part * plan.seconds + plan.end_s;
}

}  // namespace

SubmitPlan plan_submission(const SubmitRequest& request, const JobSpec& job, const JobExtent& extent,
                           const SlurmMachine& machine, const NodeSpeeds& speeds, const Planner& planner) {
    const SlurmPartition& partition = find_partition(machine, request.partition);
    const std::optional<double> asked_s = asked_time(request);

    SubmitPlan plan;
    plan.job_name = job.name();
    plan.partition = partition.name;
    plan.array = array_elements(request, machine, extent.points);
    const double part = 1.0 / std::max(plan.array, 1);
    // Fewer nodes may have too little memory. If no number is enough, the plan of all nodes explains why.
    const auto seconds = [&](const std::vector<SlurmNode>& nodes, const NodeShare& share) {
        try {
            return seconds_of(planner(topology_of(nodes, share, speeds)), part);
        } catch (const MachineError&) {
            return std::numeric_limits<double>::infinity();
        }
    };
    plan.layout =
        choose_layout(machine, partition, layout_needs(request, job, partition.max_time_s, asked_s), seconds);

    const Plan job_plan = planner(topology_of(plan.layout.nodes, plan.layout.share, speeds));
    plan.estimate_s = seconds_of(job_plan, part);
    plan.time = plan_time({plan.estimate_s, extent.stop_s ? 0 : range_seconds(job_plan, job),
                           partition.max_time_s, asked_s, extent.stop_s});
    plan.memory_mb = memory_of_node(
        job_plan, *std::min_element(plan.layout.nodes.begin(), plan.layout.nodes.end(),
                                    [](const auto& a, const auto& b) { return a.memory_mb < b.memory_mb; }));
    note_basis(plan, job_plan, speeds);
    note_nodes(plan, request, machine);
    if (plan.time.lives > 1)
        plan.notes.push_back(fmt::format("about {} of work in {:.0f} lives of {}: it requeues itself",
                                         duration_text(plan.estimate_s), plan.time.lives,
                                         slurm_time_text(plan.time.limit_s)));
    return plan;
}

}  // namespace voltpile
