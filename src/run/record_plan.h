// Measures what the plan has estimated, and puts both side by side for the result.
#pragma once

#include "plan/plan.h"
#include "results/plan_record.h"
#include "run/job_loop.h"

namespace voltpile {

// Returns the memory that this rank uses. Call it on the rank when its app has ended and its buffers still
// exist.
RankMemory memory_in_use(const RankPlan& rank);

// Returns the plan of the points that this run has computed, beside what was measured. outcome: rank 0's.
PlanRecord record_plan(const Plan& plan, const LoopOutcome& outcome);

}  // namespace voltpile
