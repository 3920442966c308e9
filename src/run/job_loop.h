// The part of a job in which something is computed: the app on a thread of its own, and on the main thread
// the messages between the ranks, signals, the time limit and the progress line.
#pragma once

#include <filesystem>

#include "comm/mpi_session.h"
#include "results/result_layout.h"
#include "run/app.h"
#include "run/runner.h"
#include "work/dispatch.h"

namespace voltpile {

struct LoopOutcome {
    bool complete = false;  // every point of the sweep is committed. Known on rank 0 only
    double seconds = 0;
    std::vector<RankProgress> ranks;  // rank 0 only
};

// Collective: every rank calls. completed: what the parts folder holds already (rank 0's view counts).
// Throws what the app or the writer threw on this rank.
LoopOutcome run_job_loop(const MpiSession& mpi, StopSignals& signals, PreparedJob& job,
                         const ResultLayout& layout, const std::filesystem::path& parts,
                         const RangeSet& completed);

}  // namespace voltpile
