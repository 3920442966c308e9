// Who does what, decided before anything runs: ranks -> GPUs and cores, with estimates. Pure: same input,
// same plan.
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
    int gpu = -1;                       // index into Host::gpus; -1: computes on its cores
    int device = -1;                    // the same GPU as CUDA counts it in this rank
    std::vector<int> cores;             // indices into Host::cores
    double units_per_s = 0;             // estimated speed
    std::int64_t memory_bytes = 0;      // host memory, estimated; does not grow with the sweep
    std::int64_t gpu_memory_bytes = 0;  // memory of the rank's GPU, estimated; 0: too little to plan
};

struct Plan {
    Topology topology;
    Workload workload;
    std::vector<RankPlan> ranks;
    std::vector<std::string> nodes;  // hosts, or parts of hosts that count as nodes ("t181-1:0")
    TeamPlan teams;
    double seconds = 0;  // estimate, all ranks together, an upper bound where points may end early
    std::vector<std::string> notes;     // what its app has decided besides, a line each
    std::vector<std::string> warnings;  // idle GPUs, more ranks than cores, ...

    const Host& host_of(const RankPlan& rank) const {
        return topology.hosts[static_cast<std::size_t>(rank.host)];
    }
    double points_per_s(const RankPlan& rank) const { return rank.units_per_s / workload.units_per_point; }
    std::int64_t result_bytes() const { return workload.points * workload.bytes_per_point; }
};

enum class DeviceChoice { Auto, Cpu, Gpu };  // job key run.device

struct PlanOptions {
    DeviceChoice device = DeviceChoice::Auto;
    int threads = 0;             // per rank; 0: all its cores
    double range_seconds = 2.0;  // for the memory estimate
    int ranks_per_node = 0;      // a host counts as several nodes of so many ranks; 0: as one
};

// Throws MachineError if GPUs are asked for and a host has fewer of them than ranks, if a rank may use no
// core, or if the teams that workload.team asks for cannot be had.
Plan make_plan(const Workload& workload, const PlanOptions& options, const Topology& topology);

// How many points a second the team of each rank computes, by rank: of those that take ranges for it, which
// are the first of each team in the order of the world; 0 for the others.
std::vector<double> leader_speeds(const Plan& plan);

// What `voltpile plan` prints.
std::string to_text(const Plan& plan);

// What plan.teams was made of, and is described with.
std::vector<TeamCandidate> team_candidates(const Plan& plan);

// "4x Tesla V100-SXM2-16GB" or "20 cores of Xeon ...": what a rank computes on.
std::string processor_text(const Plan& plan, const RankPlan& rank);

}  // namespace voltpile
