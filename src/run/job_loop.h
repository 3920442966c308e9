// The part of a job in which something is computed: the app on a thread of its own, and on the main thread
// the messages between the ranks, signals, the time limit and the progress line.
#pragma once

#include <filesystem>
#include <functional>

#include "comm/mpi_session.h"
#include "results/result_layout.h"
#include "run/app.h"
#include "run/runner.h"
#include "work/dispatch.h"

namespace voltpile {

// MPI tag of what rank 0 sends to the others while the loop runs; a last one may still be under way when it
// ends.
inline constexpr int grant_tag = 2;

struct LoopOutcome {
    bool complete = false;  // every point of the sweep is committed. Known on rank 0 only
    double seconds = 0;
    std::vector<RankProgress> ranks;  // rank 0 only
};

// What rank 0 does beside its own computing, on its main thread.
struct LoopHooks {
    std::function<void(WorkRange)> on_commit;  // any rank has committed this range
    std::function<void()> on_failure;          // this rank has failed, and the job is about to be ended
};

// Collective: every rank calls. completed: what the parts folder holds already (rank 0's view counts).
// A failure of this rank ends the whole job, after it has been printed; this does not return then.
LoopOutcome run_job_loop(const MpiSession& mpi, StopSignals& signals, PreparedJob& job,
                         const ResultLayout& layout, const std::filesystem::path& parts,
                         const RangeSet& completed, const LoopHooks& hooks);

}  // namespace voltpile
