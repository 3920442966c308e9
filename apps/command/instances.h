// Which ranks run an instance of the program.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/mpi/communicator.h"
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

// Returns the ranks that run an instance, which rise; the first is rank 0. Not for Spread::Point.
std::vector<int> instance_ranks(Spread spread, const Plan& plan);

// Collective: every rank of `world` calls. Returns how many ranks instance_ranks() will return, before there
// is a plan.
std::int64_t count_instances(const JobSpec& job, const Communicator& world);

}  // namespace voltpile::command
