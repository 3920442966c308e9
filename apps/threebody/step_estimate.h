// Estimates the work of an adaptive method before a job runs, for its plan.
#pragma once

#include <cstdint>

#include "threebody/problem.h"

namespace voltpile::threebody {

// Returns the mean number of steps that a pair attempts, from up to 128 points spread over the sweep: a tenth
// of a second on one core, and the same number on every x86 processor, so that all ranks plan alike. A pilot
// attempts 4,000 steps at most; pairs that need more count as if they ended at the rate of the others,
// which is too few where that rate falls (a quarter of the steps of jobs/threebody/agekyan_anosova.toml).
// points: of the sweep, at least 1.
double estimated_steps(const Problem& problem, std::int64_t points);

}  // namespace voltpile::threebody
