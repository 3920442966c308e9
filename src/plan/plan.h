// The plan of a job: which rank computes on which GPU or cores, with estimates of time and memory. Pure: the
// same input gives the same plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/team.h"
#include "plan/topology.h"
#include "plan/workload.h"

namespace voltpile {

struct RankPlan {
    int host = 0;
    int local_rank = 0;
    int node = 0;                       // index into Plan::nodes
    int gpu = -1;                       // index into Host::gpus; -1: the rank computes on its cores
    int device = -1;                    // CUDA's number of this GPU in this rank
    int nic = -1;                       // index into Host::nics: near the rank's GPU or cores; -1: any
    std::vector<int> cores;             // indices into Host::cores
    double units_per_s = 0;             // estimated speed
    double range_points = 0;            // points that it computes in PlanOptions::range_seconds
    std::int64_t memory_bytes = 0;      // host memory, estimated; does not grow with the sweep
    std::int64_t gpu_memory_bytes = 0;  // memory of the rank's GPU, estimated; 0: too little to plan
};

struct Plan {
    Topology topology;
    Workload workload;
    std::vector<RankPlan> ranks;
    std::vector<std::string> nodes;  // names of hosts, or of parts of hosts that count as nodes ("t181-1:0")
    TeamPlan teams;
    double seconds = 0;                 // of computing, estimated; an upper bound if points may end early
    double start_s = 0;                 // from the start of the processes to the first range; 0: unknown
    double end_s = 0;                   // from the last range to the end of the processes; 0: unknown
    double watts = 0;                   // estimated power of all hosts while the job runs; 0: unknown
    std::vector<std::string> formulas;  // how the estimates come about, one line each, for --explain
    std::vector<std::string> notes;     // further decisions of the app, one line each
    std::vector<std::string> warnings;  // idle GPUs, more ranks than cores, ...

    const Host& host_of(const RankPlan& rank) const {
        return topology.hosts[static_cast<std::size_t>(rank.host)];
    }
    double points_per_s(const RankPlan& rank) const { return rank.units_per_s / workload.units_per_point; }
    double whole_seconds() const { return start_s + seconds + end_s; }
    std::int64_t result_bytes() const { return workload.points * workload.bytes_per_point; }
};

enum class DeviceChoice { Auto, Cpu, Gpu };  // job key run.device

struct PlanOptions {
    DeviceChoice device = DeviceChoice::Auto;
    int threads = 0;             // of a rank that computes on cores; 0: all its cores
    double range_seconds = 2.0;  // length of a range, for the memory estimate
    int ranks_per_node = 0;      // splits hosts into nodes of this many ranks; 0: a host is one node
};

// Plans a job. Throws MachineError if run.device is "gpu" and a host has fewer GPUs than ranks, if a rank may
// not use any core, or if workload.team does not fit the ranks.
Plan make_plan(const Workload& workload, const PlanOptions& options, const Topology& topology);

// Returns the leader of a team: its lowest rank, which takes the ranges.
int leader_of(const Team& team);

// Returns, by rank, the points per second of the team that the rank leads, 0 for ranks that lead none.
std::vector<double> leader_speeds(const Plan& plan);

// Returns what `voltpile plan` prints.
std::string to_text(const Plan& plan);

// Returns the ranks as plan_teams() and to_text(TeamPlan) take them.
std::vector<TeamCandidate> team_candidates(const Plan& plan);

// Describes what a rank computes on: "GPU 0 (Tesla V100-SXM2-16GB)", "20 cores of Xeon ... (512-bit SIMD)".
std::string processor_text(const Plan& plan, const RankPlan& rank);

}  // namespace voltpile
