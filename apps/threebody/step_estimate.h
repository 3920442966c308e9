// Estimates the work of an adaptive method before a job runs, for its plan.
#pragma once

#include <cstdint>
#include <optional>

#include "threebody/problem.h"

namespace voltpile::threebody {

// Returns the mean number of steps that a pair attempts, from up to 128 points spread over the sweep: a tenth
// of a second on one core, and the same number on every x86 processor, so that all ranks plan alike. These
// pilots attempt 4,000 steps at most. Of those left undecided, up to 16 go on to 64,000 steps, within a
// second; what is left even then counts as if it ended at the rate at which these 16 do. In double-double, 16
// pilots at a tolerance of at least 1e-10 stand for all. points: of the sweep, at least 1.
double estimated_steps(const Problem& problem, std::int64_t points);

// Returns the mean number of steps of a pair with a method of fixed steps, from the same points: pairs that
// part end early. Problem::largest_steps if following these points would take longer than a few tenths of a
// second. In a movie fewer pairs are followed instead, at least 16 of all frames; if these take longer than
// about a second, the mean of all frames' steps.
double estimated_fixed_steps(const Problem& problem, std::int64_t points);

// Returns whether any of 8 to 32 pairs, spread over the points from `begin` on, parts within its steps;
// nothing if that takes too long to try.
std::optional<bool> any_pair_parts(const Problem& problem, std::int64_t begin, std::int64_t points);

}  // namespace voltpile::threebody
