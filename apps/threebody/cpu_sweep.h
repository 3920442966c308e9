// Runs a rank's share of a three-body job on its CPU cores.
#pragma once

#include <vector>

#include "threebody/cpu_targets.h"
#include "threebody/point_feed.h"
#include "threebody/problem.h"
#include "work/work_scheduler.h"

namespace voltpile::threebody {

// Starts one thread for each of `pus` (operating-system indices of hardware threads) and binds it there.
// Returns when `work` has no more ranges and all taken ones are submitted. Rethrows the exception of the
// first thread that fails.
void sweep_on_cpu(const Problem& problem, const std::vector<OutcomeField>& fields, const CpuTarget& target,
                  const std::vector<int>& pus, WorkScheduler& work, const SubmitRange& submit);

}  // namespace voltpile::threebody
