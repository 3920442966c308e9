// job file -> plan -> ranks -> work -> results: one job from its first line to its last message.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/mpi/session.h"
#include "job/job_spec.h"
#include "plan/plan.h"
#include "run/app.h"
#include "run/stop_signals.h"
#include "work/shard.h"

namespace voltpile {

struct RunOptions {
    std::string job_path;
    std::optional<std::string> job_text;  // of a piped job file, which can be read only once
    std::vector<std::string> overrides;   // --set
    std::filesystem::path output;         // empty: results/<job name>.h5
    bool fresh = false;                   // discard what earlier runs have left
    Shard shard;                          // compute only this part of the sweep
    std::filesystem::path jsonl;          // also write the result's points as lines of JSON; empty: not
    bool take_over = false;               // also from a run that is still there, or out of reach
    std::string command_line;             // for the record
};

// The job file, and what its app has found in its inputs.
struct OpenedJob {
    JobSpec spec;
    std::unique_ptr<App> app;
};

// What is known before anything is computed.
struct PreparedJob {
    JobSpec spec;
    std::unique_ptr<App> app;
    Plan plan;
};

// Returns whether a job file is a pipe or a device, which cannot be read twice and by one process only.
bool is_piped_job(const std::string& path);

// Before MPI starts: has it use the transport that the job asks for. Where this process cannot read the job
// file, or the file is wrong (open_job will say so), the choice is Open MPI's.
void choose_transport(std::span<const AppEntry> apps, const RunOptions& options);

// Collective: every rank calls. Throws AgreedError.
OpenedJob open_job(const Communicator& world, std::span<const AppEntry> apps, const RunOptions& options);

// Collective: every rank calls. Plans for the machine at hand. Throws AgreedError.
PreparedJob plan_job(const Communicator& world, OpenedJob job);

// A job that is looked at and not run, by one process without MPI: for described machines.
class DescribedJob {
  public:
    // Throws Error: JobError for a wrong job file, what the app finds wrong with its inputs.
    DescribedJob(std::span<const AppEntry> apps, const RunOptions& options);

    const JobSpec& spec() const { return spec_; }
    ResultLayout layout() const { return app_->layout(spec_); }
    Plan plan(const Topology& topology) const;

  private:
    JobSpec spec_;
    std::unique_ptr<App> app_;
};

// Collective: every rank calls. Runs the job, resuming what earlier runs have left, and consolidates its
// result; one that is complete is not planned, so that any machine can tell. Returns Done or Stopped. Throws
// AgreedError on all ranks alike; an error that a rank has alone ends all ranks (MpiSession::abort) after it
// has been printed.
ExitCode run_job(const MpiSession& mpi, StopSignals& signals, std::span<const AppEntry> apps,
                 const RunOptions& options);

}  // namespace voltpile
