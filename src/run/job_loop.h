// The part of a job that computes: the app runs on a thread of its own while the main thread handles messages
// between ranks, signals, the time limit and the progress line.
#pragma once

#include <functional>
#include <string>

#include "comm/mpi/session.h"
#include "results/parts/life.h"
#include "results/result_layout.h"
#include "results/telemetry.h"
#include "run/app.h"
#include "run/progress.h"
#include "run/runner.h"
#include "work/dispatch.h"
#include "work/refined_level.h"

namespace voltpile {

// The points to compute: `interval` minus `completed`. Rank 0's view counts.
struct LoopTask {
    std::string title;  // of the progress line
    WorkRange interval;
    RangeSet completed;
    const RefinedLevel* level = nullptr;  // of a refined sweep: the interval is its positions
    double seconds_before = 0;            // that the job took before, for its time limit
};

struct LoopOutcome {
    bool complete = false;  // every point of the interval is committed; known on rank 0 only
    double seconds = 0;
    double start_s = 0;               // from the start of the process to the first range; 0: unknown
    std::vector<RankProgress> ranks;  // rank 0 only
    std::vector<RankMemory> memory;   // rank 0 only, by rank
    GpuPower power;                   // rank 0 only; of all GPUs of the hosts

    // What the GPUs drew from the first to the last range. The samples miss parts of a loop's first and last
    // second, so this takes their mean power for all of it.
    double gpu_energy_j() const { return power.mean_w * seconds; }

    // Adds a loop of the same job that ran after this one; its `complete` counts.
    void add(const LoopOutcome& next);
};

// Callbacks on the main thread.
struct LoopHooks {
    std::function<void(int rank, WorkRange)> on_commit;  // rank 0
    std::function<void()> on_failure;  // rank 0: a rank has failed, and the job is about to end
    std::function<void()> on_tick;     // every rank, about every half millisecond
    // Rank 0, every second. ranks: by rank.
    std::function<void(const ProgressState&, const std::vector<RankProgress>& ranks)> on_progress;
};

// Collective: every rank calls. life: where this rank commits. If any rank fails, rank 0 prints the error, or
// the rank itself if rank 0 does not answer, the whole job ends, and this does not return.
LoopOutcome run_job_loop(const MpiSession& mpi, StopSignals& signals, PreparedJob& job,
                         const ResultLayout& layout, const Life& life, const LoopTask& task,
                         const LoopHooks& hooks);

}  // namespace voltpile
