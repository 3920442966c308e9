// Runs a rank's share of a three-body job on its GPU.
#pragma once

#include <vector>

#include "threebody/outcome_fields.h"
#include "threebody/point_feed.h"
#include "threebody/problem.h"
#include "work/work_scheduler.h"

namespace voltpile::threebody {

// gpu: index as in device_info(). Keeps two ranges in flight, so that the last pairs of one run beside the
// first pairs of the next. Returns when `work` has no more ranges and all taken ones are submitted. Throws
// DeviceError.
void sweep_on_gpu(const Problem& problem, const std::vector<OutcomeField>& fields, int gpu,
                  WorkScheduler& work, const SubmitRange& submit);

}  // namespace voltpile::threebody
