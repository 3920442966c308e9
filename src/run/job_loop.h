// The part of a job in which something is computed: the app on a thread of its own, and on the main thread
// the messages between the ranks, signals, the time limit and the progress line.
#pragma once

#include <functional>
#include <string>

#include "comm/mpi/session.h"
#include "results/parts/life.h"
#include "results/result_layout.h"
#include "run/app.h"
#include "run/runner.h"
#include "work/dispatch.h"

namespace voltpile {

// What of the sweep is to be computed: `interval`, but for what has been completed (rank 0's view counts).
struct LoopTask {
    std::string title;  // of the progress line
    WorkRange interval;
    RangeSet completed;
};

struct LoopOutcome {
    bool complete = false;  // every point of the interval is committed. Known on rank 0 only
    double seconds = 0;
    std::vector<RankProgress> ranks;  // rank 0 only
};

// What rank 0 does beside its own computing, on its main thread.
struct LoopHooks {
    std::function<void(int rank, WorkRange)> on_commit;
    std::function<void()> on_failure;  // a rank has failed, and the job is about to be ended
};

// Collective: every rank calls. life: where this rank commits. A failure of any rank ends the whole job,
// after it has been printed, once, by rank 0 if that answers; this does not return then.
LoopOutcome run_job_loop(const MpiSession& mpi, StopSignals& signals, PreparedJob& job,
                         const ResultLayout& layout, const Life& life, const LoopTask& task,
                         const LoopHooks& hooks);

}  // namespace voltpile
