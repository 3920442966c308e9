#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/format.h"
#include "plan/cores.h"
#include "plan/device_paths.h"
#include "plan/start_and_end.h"
#include "plan/sweep_memory.h"

namespace voltpile {
namespace {

// Returns the rate that was measured on a GPU of the host, or on a core (gpu < 0); 0: none was.
double measured_units_per_s(const Host& host, int gpu, const Workload& work) {
    if (work.measured_as.empty()) return 0;
    return host.measured_rate(work.measured_as,
                              gpu >= 0 ? host.gpus[static_cast<std::size_t>(gpu)].name : "");
}

double gpu_units_per_s(const Host& host, int index, const Workload& work) {
    if (const double rate = measured_units_per_s(host, index, work); rate > 0) return rate;
    const Gpu& gpu = host.gpus[static_cast<std::size_t>(index)];
    const double per_clock = work.fp64 ? gpu.fp64_per_clock : gpu.fp32_per_clock;
    return gpu.multiprocessors * per_clock * gpu.clock_ghz * 1e9 * work.gpu_efficiency / work.flop_per_unit;
}

double core_units_per_s(const Host& host, const Workload& work) {
    if (const double rate = measured_units_per_s(host, -1, work); rate > 0) return rate;
    const double seconds = work.core_cycles_per_unit > 0
                               ? work.core_cycles_per_unit / core_lane_cycles_per_s(host, work.fp64)
                               : work.flop_per_unit / core_lanes_per_s(host, work.fp64);
    return 1 / (seconds + work.core_seconds_per_point / work.units_per_point);
}

// The rate at which a rank commits its results and rank 0 copies them, by the maps of docs/benchmarks.md.
constexpr double kWrittenBytesPerS = 2.2e8;

// Returns the index into visible_gpus of the first free GPU that the rank sees; -1 if there is none.
int free_device(const RankPlace& place, const std::vector<bool>& taken) {
    for (std::size_t device = 0; device < place.visible_gpus.size(); ++device)
        if (!taken[static_cast<std::size_t>(place.visible_gpus[device])]) return static_cast<int>(device);
    return -1;
}

// Why a rank of a host finds no GPU when run.device = "gpu". taken: GPUs that other ranks of the host drive.
std::string missing_gpu_text(const Topology& topology, int host_index, std::size_t taken) {
    const Host& host = topology.hosts[static_cast<std::size_t>(host_index)];
    const auto here = std::ranges::count(topology.ranks, host_index, &RankPlace::host);
    const std::string_view other_devices = "set run.device = \"auto\" or \"cpu\"";
    if (host.gpus.empty())
        return fmt::format("run.device = \"gpu\": {} has no GPUs; {}", host.name, other_devices);
    if (taken < host.gpus.size())
        return fmt::format(
            "run.device = \"gpu\": the {} ranks on {} can use only {} of its {} GPUs; check "
            "CUDA_VISIBLE_DEVICES "
            "and what the batch system gives each rank, or {}",
            here, host.name, taken, host.gpus.size(), other_devices);
    return fmt::format(
        "run.device = \"gpu\": {} has {} GPU{} but {} ranks; start at most {} rank{} there, or {}", host.name,
        taken, taken == 1 ? "" : "s", here, taken, taken == 1 ? "" : "s", other_devices);
}

// Gives the GPUs of a host to its first ranks, one each.
HostRanks assign_gpus(Plan& plan, const PlanOptions& options, int host_index) {
    const Host& host = plan.topology.hosts[static_cast<std::size_t>(host_index)];
    HostRanks ranks;
    std::vector<bool> taken(host.gpus.size());
    for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
        RankPlan& rank = plan.ranks[r];
        if (rank.host != host_index) continue;
        const RankPlace& place = plan.topology.ranks[r];
        const int device = options.device == DeviceChoice::Cpu ? -1 : free_device(place, taken);
        if (options.device == DeviceChoice::Gpu && device < 0)
            throw MachineError(missing_gpu_text(plan.topology, host_index, ranks.with_gpu.size()));
        if (device < 0) {
            ranks.on_cores.push_back(static_cast<int>(r));
            continue;
        }
        rank.device = device;
        rank.gpu = place.visible_gpus[static_cast<std::size_t>(device)];
        taken[static_cast<std::size_t>(rank.gpu)] = true;
        ranks.with_gpu.push_back(static_cast<int>(r));
        ranks.numa_node_of_gpu.push_back(host.gpus[static_cast<std::size_t>(rank.gpu)].place.numa_node);
    }
    const auto idle = std::count(taken.begin(), taken.end(), false);
    if (options.device != DeviceChoice::Cpu && idle > 0)
        plan.warnings.push_back(fmt::format(
            "{} GPU{} of {} stay{} idle: each rank drives one; start {} ranks there (mpirun -np {})", idle,
            idle == 1 ? "" : "s", host.name, idle == 1 ? "s" : "", host.gpus.size(), host.gpus.size()));
    return ranks;
}

// Gives each rank with a GPU of a host a network adapter next to it. Ranks with the same adapters take turns.
void assign_nics(Plan& plan, int host_index) {
    const Host& host = plan.topology.hosts[static_cast<std::size_t>(host_index)];
    if (host.nics.empty()) return;
    std::map<std::vector<std::size_t>, std::size_t> turns;
    for (RankPlan& rank : plan.ranks) {
        if (rank.host != host_index || rank.gpu < 0) continue;
        const std::vector<std::size_t> nics = nearest_nics(host, static_cast<std::size_t>(rank.gpu));
        if (!nics.empty()) rank.nic = static_cast<int>(nics[turns[nics]++ % nics.size()]);
    }
}

// Returns how many cores a rank has, counting a core that n ranks share as 1/n.
double share_of_cores(const Plan& plan, const RankPlan& rank) {
    double share = 0;
    for (int core : rank.cores)
        share +=
            1.0 / static_cast<double>(
                      std::count_if(plan.ranks.begin(), plan.ranks.end(), [&](const RankPlan& other) {
                          return other.host == rank.host && other.gpu < 0 &&
                                 std::find(other.cores.begin(), other.cores.end(), core) != other.cores.end();
                      }));
    return share;
}

// Returns the power of the hosts under load: of the whole host where that is known, else of the GPUs in use.
// 0 if nothing is known of some host.
double power_of(const Plan& plan) {
    double all = 0;
    for (std::size_t h = 0; h < plan.topology.hosts.size(); ++h) {
        const Host& host = plan.topology.hosts[h];
        double watts = host.watts;
        if (watts == 0)
            for (const RankPlan& rank : plan.ranks)
                if (rank.host == static_cast<int>(h) && rank.gpu >= 0)
                    watts += host.gpus[static_cast<std::size_t>(rank.gpu)].watts;
        if (watts == 0) return 0;
        all += watts;
    }
    return all;
}

// Says how the rate of a rank comes about.
std::string rate_formula(const Plan& plan, const RankPlan& rank) {
    const Workload& work = plan.workload;
    const Host& host = plan.host_of(rank);
    const char* type = work.fp64 ? "FP64" : "FP32";
    if (const double rate = measured_units_per_s(host, rank.gpu, work); rate > 0)
        return fmt::format("rate of {} = {:.4g} {}/s{} as calibrated on {}", processor_text(plan, rank), rate,
                           work.unit, rank.gpu < 0 ? " a core" : "", host.calibrated);
    if (rank.gpu < 0) {
        const std::string of_units =
            work.core_cycles_per_unit > 0
                ? fmt::format("{:.4g} cycles/s a core in all {} lanes / {:.4g} cycles",
                              core_lane_cycles_per_s(host, work.fp64), type, work.core_cycles_per_unit)
                : fmt::format("{:.4g} {} lanes/s a core / {:.4g} instructions",
                              core_lanes_per_s(host, work.fp64), type, work.flop_per_unit);
        return fmt::format(
            "rate of {} = {}{} = {:.4g} {}/s", processor_text(plan, rank), of_units,
            work.core_seconds_per_point > 0
                ? fmt::format(", with {:.3g} ns beside them for a point", 1e9 * work.core_seconds_per_point)
                : "",
            rank.units_per_s, work.unit);
    }
    const Gpu& gpu = host.gpus[static_cast<std::size_t>(rank.gpu)];
    return fmt::format(
        "rate of {} = {} multiprocessors x {:g} {} instructions x {:g} GHz x {:g} / {:.4g} instructions = "
        "{:.4g} {}/s",
        gpu.name, gpu.multiprocessors, work.fp64 ? gpu.fp64_per_clock : gpu.fp32_per_clock, type,
        gpu.clock_ghz, work.gpu_efficiency, work.flop_per_unit, rank.units_per_s, work.unit);
}

// Says how the memory of a rank comes about.
void explain_memory(Plan& plan) {
    const Workload& work = plan.workload;
    const auto bytes = [](std::int64_t count) { return bytes_text(static_cast<double>(count)); };
    std::string& host =
        plan.formulas.emplace_back(fmt::format("host memory = {} + {} x points of a range x {} B",
                                               bytes(kProgramBytes), kResultCopies, work.bytes_per_point));
    const bool any_gpu = std::ranges::any_of(plan.ranks, [](const RankPlan& rank) { return rank.gpu >= 0; });
    if (!any_gpu || !work.gpu_state_bytes) return;
    const std::string in_flight =
        fmt::format("{} ranges x {} points x", kGpuRangesInFlight,
                    count_text(prepared_gpu_points(work.points, work.bytes_per_point)));
    host += fmt::format("; with a GPU also {} for CUDA + {} {} B", bytes(kCudaSweepHostBytes), in_flight,
                        work.bytes_per_point);
    const std::string table =
        work.gpu_table_bytes > 0 ? fmt::format(" + {} of tables", bytes(work.gpu_table_bytes)) : "";
    plan.formulas.push_back(fmt::format("GPU memory = {} for CUDA{} + {} ({} B of results + {} B of states)",
                                        bytes(kCudaSweepGpuBytes), table, in_flight, work.bytes_per_point,
                                        *work.gpu_state_bytes));
}

double writing_seconds(const Plan& plan) {
    return static_cast<double>(plan.result_bytes()) /
           (kWrittenBytesPerS * static_cast<double>(plan.ranks.size()));
}

// Writes down how the estimates come about, once for each kind of processor.
void explain(Plan& plan, double all_units_per_s) {
    const Workload& work = plan.workload;
    for (const RankPlan& rank : plan.ranks) {
        std::string line = rate_formula(plan, rank);
        if (std::ranges::find(plan.formulas, line) == plan.formulas.end())
            plan.formulas.push_back(std::move(line));
    }
    plan.formulas.push_back(fmt::format(
        "time = {} points x {:.6g} {} / {:.4g} {}/s = {}", count_text(work.points), work.units_per_point,
        work.unit, all_units_per_s, work.unit,
        duration_text(static_cast<double>(work.points) * work.units_per_point / all_units_per_s)));
    plan.formulas.push_back(fmt::format("at least {} / ({} ranks x {}/s of writing) = {}",
                                        bytes_text(static_cast<double>(plan.result_bytes())),
                                        plan.ranks.size(), bytes_text(kWrittenBytesPerS),
                                        duration_text(writing_seconds(plan))));
    explain_memory(plan);
    plan.formulas.push_back(fmt::format("result = {} points x {} B = {}", count_text(work.points),
                                        work.bytes_per_point,
                                        bytes_text(static_cast<double>(plan.result_bytes()))));
}

void estimate(Plan& plan, const PlanOptions& options, bool shared) {
    double all = 0;
    for (RankPlan& rank : plan.ranks) {
        const Host& host = plan.host_of(rank);
        rank.units_per_s = rank.gpu >= 0 ? gpu_units_per_s(host, rank.gpu, plan.workload)
                                         : core_units_per_s(host, plan.workload) *
                                               (shared ? share_of_cores(plan, rank)
                                                       : static_cast<double>(rank.cores.size()));
        rank.range_points = plan.points_per_s(rank) * options.range_seconds;
        rank.memory_bytes = sweep_host_bytes(plan.workload, plan.workload.points, rank.range_points,
                                             cuda_use(rank.gpu >= 0, !host.gpus.empty()));
        if (rank.gpu >= 0) rank.gpu_memory_bytes = sweep_gpu_bytes(plan.workload, plan.workload.points);
        all += rank.units_per_s;
    }
    plan.seconds = std::max(static_cast<double>(plan.workload.points) * plan.workload.units_per_point / all,
                            writing_seconds(plan));
    plan.watts = power_of(plan);
    explain(plan, all);
    estimate_start_and_end(plan);
}

// Assigns ranks to nodes: consecutive ranks of a host form a node.
void assign_nodes(Plan& plan, int ranks_per_node) {
    for (std::size_t h = 0; h < plan.topology.hosts.size(); ++h) {
        std::vector<RankPlan*> here;
        for (RankPlan& rank : plan.ranks)
            if (rank.host == static_cast<int>(h)) here.push_back(&rank);
        const std::size_t each = ranks_per_node > 0 ? static_cast<std::size_t>(ranks_per_node)
                                                    : std::max<std::size_t>(here.size(), 1);
        const std::size_t count = (here.size() + each - 1) / each;
        for (std::size_t i = 0; i < here.size(); ++i)
            here[i]->node = static_cast<int>(plan.nodes.size() + i / each);
        const std::string& host = plan.topology.hosts[h].name;
        for (std::size_t n = 0; n < count; ++n)
            plan.nodes.push_back(count == 1 ? host : fmt::format("{}:{}", host, n));
    }
}

}  // namespace

std::vector<TeamCandidate> team_candidates(const Plan& plan) {
    std::vector<std::int64_t> ranks_on(plan.topology.hosts.size());
    for (const RankPlan& rank : plan.ranks) ++ranks_on[static_cast<std::size_t>(rank.host)];
    std::vector<TeamCandidate> out;
    for (const RankPlan& rank : plan.ranks) {
        const Host& host = plan.host_of(rank);
        TeamCandidate each{rank.node, plan.nodes[static_cast<std::size_t>(rank.node)], rank.gpu >= 0, -1,
                           host.memory_bytes / ranks_on[static_cast<std::size_t>(rank.host)]};
        if (rank.gpu >= 0) {
            const Gpu& gpu = host.gpus[static_cast<std::size_t>(rank.gpu)];
            each.island = gpu.nvlink_island;
            each.memory_bytes = gpu.memory_bytes;
        }
        out.push_back(std::move(each));
    }
    return out;
}

int leader_of(const Team& team) {
    int leader = team.stages.front().front();
    for (const std::vector<int>& stage : team.stages) leader = std::min(leader, std::ranges::min(stage));
    return leader;
}

std::vector<double> leader_speeds(const Plan& plan) {
    std::vector<double> speeds(plan.ranks.size());
    for (const Team& team : plan.teams.teams) {
        double& speed = speeds[static_cast<std::size_t>(leader_of(team))];
        for (const std::vector<int>& stage : team.stages)
            for (const int rank : stage)
                speed += plan.points_per_s(plan.ranks[static_cast<std::size_t>(rank)]);
    }
    return speeds;
}

Plan make_plan(const Workload& workload, const PlanOptions& options, const Topology& topology) {
    Plan plan;
    plan.topology = topology;
    plan.workload = workload;
    for (const RankPlace& place : topology.ranks) {
        RankPlan rank;
        rank.host = place.host;
        rank.local_rank = place.local_rank;
        plan.ranks.push_back(rank);
    }
    bool shared = false;
    std::vector<std::vector<int>> cores(plan.ranks.size());
    for (std::size_t h = 0; h < topology.hosts.size(); ++h) {
        const HostRanks ranks = assign_gpus(plan, options, static_cast<int>(h));
        assign_nics(plan, static_cast<int>(h));
        const bool sharing = divide_cores(topology, topology.hosts[h], ranks, cores) > 0;
        shared = shared || sharing;
        if (sharing)
            plan.warnings.push_back(fmt::format("{} has fewer cores than ranks: some ranks share a core",
                                                topology.hosts[h].name));
    }
    for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
        if (cores[r].empty())
            throw MachineError(fmt::format("rank {} on {} is not allowed to use any core", r,
                                           plan.host_of(plan.ranks[r]).name));
        const bool on_cores = plan.ranks[r].device < 0;
        if (on_cores && options.threads > 0 && cores[r].size() > static_cast<std::size_t>(options.threads))
            cores[r].resize(static_cast<std::size_t>(options.threads));
        plan.ranks[r].cores = std::move(cores[r]);
    }
    for (const Host& host : topology.hosts)
        if (!host.calibration_problem.empty()) plan.warnings.push_back(host.calibration_problem);
    estimate(plan, options, shared);
    assign_nodes(plan, options.ranks_per_node);
    plan.teams = plan_teams(workload.team, team_candidates(plan));
    plan.warnings.insert(plan.warnings.end(), plan.teams.notes.begin(), plan.teams.notes.end());
    if (workload.points < static_cast<std::int64_t>(plan.teams.teams.size()))
        plan.warnings.push_back(fmt::format("{} {}, but only {} point{}: some {} will have nothing to do",
                                            plan.teams.teams.size(), plan.teams.single() ? "ranks" : "teams",
                                            workload.points, workload.points == 1 ? "" : "s",
                                            plan.teams.single() ? "ranks" : "teams"));
    return plan;
}

}  // namespace voltpile
