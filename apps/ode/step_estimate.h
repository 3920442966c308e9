// Estimates how many steps a job takes.
#pragma once

#include <vector>

#include "ode/problem.h"
#include "plan/workload.h"
#include "sweep/outcome_field.h"

namespace voltpile::ode {

// Integrates a few dozen points, spread over the sweep, for a fraction of a second at most.
Workload workload_of(const Problem& problem, const std::vector<OutcomeField>& fields, std::int64_t points);

}  // namespace voltpile::ode
