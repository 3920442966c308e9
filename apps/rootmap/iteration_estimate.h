// Estimates how much a root map has to iterate, and says where a precision does not suffice.
#pragma once

#include <string>
#include <vector>

#include "plan/workload.h"
#include "rootmap/problem.h"
#include "sweep/outcome_field.h"

namespace voltpile::rootmap {

// Iterates a few hundred points, spread over the sweep, for a fraction of a second at most.
// points: computed, spread like all of the sweep's.
Workload workload_of(const Problem& problem, const std::vector<OutcomeField>& fields, std::int64_t points);

// Returns what the user should know about the spacing of the sweep's points and the tolerance.
std::vector<std::string> precision_warnings(const Problem& problem);

}  // namespace voltpile::rootmap
