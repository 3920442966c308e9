// Teams: the ranks that share one work item. A team has pipeline stages, each of which is one tensor-parallel
// group; the teams of a job are replicas of each other. A sweep's teams are single ranks. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace voltpile {

// What an app asks for. 0 leaves a count to the plan.
struct TeamShape {
    int tensor = 1;    // ranks of a tensor-parallel group
    int pipeline = 1;  // stages
    int replicas = 0;  // teams

    // What limits the choice; 0: nothing.
    int tensor_divides = 0;         // tensor must divide this (attention heads)
    int most_stages = 0;            // layers
    std::int64_t memory_bytes = 0;  // a team's processors together must have this much

    bool single() const { return tensor == 1 && pipeline == 1; }
};

// What of a rank matters here.
struct TeamCandidate {
    int node = 0;
    std::string node_name;
    bool has_gpu = false;
    int island = -1;                // of GPUs that NVLink connects with each other; -1: none
    std::int64_t memory_bytes = 0;  // of its GPU, or its share of the host's
};

struct Team {
    std::vector<std::vector<int>> stages;  // [pipeline stage][tensor rank]: world ranks
};

// Where a rank stands; of an idle rank all are -1.
struct TeamPlace {
    int replica = -1;
    int stage = -1;
    int tensor_rank = -1;
    bool operator==(const TeamPlace&) const = default;
};

struct TeamPlan {
    int tensor = 1;
    int pipeline = 1;
    std::vector<Team> teams;         // by replica
    std::vector<TeamPlace> places;   // by world rank
    std::vector<std::string> notes;  // for people: which ranks stay idle, and why

    bool single() const { return tensor == 1 && pipeline == 1; }
};

// Groups lie within one node and, where its GPUs have NVLink, within one island; in a group and in a team's
// stages, ranks and groups follow each other in the order of nodes and ranks, so that most stages hand over
// within a node and the others to the next one. Where any rank has a GPU, those without are left out of teams
// of several ranks. Counts that are left open: tensor as large as keeps the most ranks busy; pipeline as many
// stages as the memory needs, or as `replicas` leaves; replicas as many as there is room for.
// Throws MachineError (JobError for tensor_divides and most_stages) saying what does not fit, and what would.
TeamPlan plan_teams(const TeamShape& shape, const std::vector<TeamCandidate>& ranks);

// "2 replicas of 3 stages of 4 ranks", and a line for each team; the first few.
std::string to_text(const TeamPlan& plan, const std::vector<TeamCandidate>& ranks);

// Cliques of `linked` (symmetric): [gpu] -> island, -1 for GPUs that are linked to none.
std::vector<int> nvlink_islands(const std::vector<std::vector<bool>>& linked);

}  // namespace voltpile
