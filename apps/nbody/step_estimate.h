// Estimates how many steps a job takes.
#pragma once

#include <vector>

#include "nbody/problem.h"
#include "plan/workload.h"
#include "sweep/outcome_field.h"

namespace voltpile::nbody {

// Integrates a few dozen points, spread over the job's, for a fraction of a second at most.
Workload workload_of(const Problem& problem, const std::vector<OutcomeField>& fields, std::int64_t points);

}  // namespace voltpile::nbody
