// The loop of a job with [refine]: level after level, each like a job of its own. All ranks learn from rank 0
// which points of a level are computed.
#pragma once

#include "run/job_loop.h"
#include "run/result_stores.h"

namespace voltpile {

// Collective: every rank calls. task: of the whole job. Runs the levels that are not complete yet, each after
// the one before it; parts on other hosts' disks are gathered in between. Throws AgreedError if rank 0 cannot
// read the values of a level.
LoopOutcome run_refined_loop(const MpiSession& mpi, StopSignals& signals, PreparedJob& job,
                             const ResultLayout& layout, ResultStores& stores, const LoopTask& task,
                             const LoopHooks& hooks);

// What a plan says of a refined job: between which numbers of points it computes.
std::string refined_bounds_text(const JobSpec& job, const Plan& plan);

}  // namespace voltpile
