// Teams: ranks that share one work item. A team consists of pipeline stages; each stage is one
// tensor-parallel group. The teams of a job are replicas of each other. In a sweep each team is a single
// rank. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace voltpile {

// The teams that an app requests. 0 leaves a count to the plan.
struct TeamShape {
    int tensor = 1;    // ranks in a tensor-parallel group
    int pipeline = 1;  // stages in a team
    int replicas = 0;  // teams

    // Limits; 0: none.
    int tensor_divides = 0;         // `tensor` must divide this number (attention heads)
    int most_stages = 0;            // layers of the model
    std::int64_t memory_bytes = 0;  // total memory that the processors of a team must have

    bool single() const { return tensor == 1 && pipeline == 1; }
};

// The properties of a rank that affect teams.
struct TeamCandidate {
    int node = 0;
    std::string node_name;
    bool has_gpu = false;
    int island = -1;                // NVLink island of its GPU; -1: none
    std::int64_t memory_bytes = 0;  // memory of its GPU, or its share of host memory
    bool excluded = false;          // joins no team, and is not missed: it does other work
};

struct Team {
    std::vector<std::vector<int>> stages;  // [pipeline stage][tensor rank]: world ranks
};

// The place of a rank in its team; all -1 for an idle rank.
struct TeamPlace {
    int replica = -1;
    int stage = -1;
    int tensor_rank = -1;
    bool operator==(const TeamPlace&) const = default;
};

struct TeamPlan {
    int tensor = 1;
    int pipeline = 1;
    std::vector<Team> teams;        // by replica
    std::vector<TeamPlace> places;  // by world rank
    // Ranks without a place that work for the only team: those of its draft model.
    std::vector<int> helpers;
    std::vector<std::string> notes;  // which ranks stay idle, and why

    bool single() const { return tensor == 1 && pipeline == 1; }
    // The replica that a rank works for; -1: none.
    int replica_of(int rank) const {
        if (std::ranges::find(helpers, rank) != helpers.end()) return 0;
        return places[static_cast<std::size_t>(rank)].replica;
    }
};

// Forms teams. A group lies within one node and, if its GPUs have NVLink, within one island. Groups and
// stages follow the order of nodes and ranks, so that most stages hand over within a node and the others to
// the next node. If any rank has a GPU, ranks without one join no team of several ranks. Open counts:
// `tensor` keeps the most ranks busy; `pipeline` has the stages that memory requires or that `replicas`
// leaves; `replicas` is as large as fits. Throws MachineError (JobError for tensor_divides and most_stages)
// that says what does not fit and what would.
TeamPlan plan_teams(const TeamShape& shape, const std::vector<TeamCandidate>& ranks);

// Describes teams: "2 replicas of 3 pipeline stages of 4 tensor-parallel ranks", then a line for each of the
// first 16 teams.
std::string to_text(const TeamPlan& plan, const std::vector<TeamCandidate>& ranks);

// Returns the NVLink island of each GPU: cliques of the symmetric matrix `linked`; -1 for GPUs without links.
std::vector<int> nvlink_islands(const std::vector<std::vector<bool>>& linked);

}  // namespace voltpile
