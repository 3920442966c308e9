// Runs a rank's share of a sweep on its CPU cores.
#pragma once

#include <functional>
#include <vector>

#include "sweep/point_feed.h"
#include "sweep/point_stream.h"
#include "work/work_scheduler.h"

namespace voltpile {

// Computes points from the stream on the calling thread until the stream has none left; see run_lanes
// (sweep/cpu_lanes.h).
using SweepPoints = std::function<void(PointStream&)>;

// Starts one thread for each of `pus` (operating-system indices of hardware threads), binds it there and
// calls `sweep` on it. Returns when `work` has no more ranges and all taken ones are submitted. Rethrows the
// exception of the first thread that fails.
void sweep_on_cpu(const SweepPoints& sweep, const std::vector<OutcomeField>& fields,
                  const std::vector<int>& pus, WorkScheduler& work, const SubmitRange& submit);

}  // namespace voltpile
