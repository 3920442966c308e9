// Estimates how much a root map has to iterate.
#pragma once

#include <optional>
#include <vector>

#include "plan/workload.h"
#include "rootmap/problem.h"
#include "sweep/outcome_field.h"

namespace voltpile::rootmap {

// Iterates hundreds to thousands of points, spread over the sweep, for a fraction of a second at most.
// points: computed, spread like all of the sweep's.
Workload workload_of(const Problem& problem, const std::vector<OutcomeField>& fields, std::int64_t points);

// Returns whether any of 64 points, spread over those from `begin` on, ends before max_iterations; nothing if
// that takes too long to try.
std::optional<bool> any_point_ends(const Problem& problem, std::int64_t begin, std::int64_t points);

}  // namespace voltpile::rootmap
