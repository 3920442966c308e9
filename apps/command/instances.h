// Which ranks run an instance of the program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "job/job_spec.h"
#include "plan/plan.h"

namespace voltpile::command {

// What one instance of the program stands for.
enum class Spread {
    Point,       // a point of the sweep; ranks take the points one after the other
    Allocation,  // the whole job: the first rank runs it
    Node,        // a node: the first rank of each runs it, all at the same time
    Rank,        // a rank, all at the same time
};

Spread spread_of(const JobSpec& job);

// Whether the result has one record for each instance.
inline bool has_instances(Spread spread) {
    return spread == Spread::Node || spread == Spread::Rank;
}

// Returns the ranks that run an instance: the first is rank 0, with Spread::Node the others are in the order
// of the nodes. Not for Spread::Point.
std::vector<int> instance_ranks(Spread spread, const Plan& plan);

// Returns how many ranks instance_ranks() will return, before there is a plan. hosts: the name of the host of
// each rank. ranks_per_node: 0: a host is a node.
std::int64_t count_instances(Spread spread, std::span<const std::string> hosts, std::int64_t ranks_per_node);

}  // namespace voltpile::command
