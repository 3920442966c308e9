// Runs one job from its file to its result: job file -> plan -> ranks -> work -> results.
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
#include "run/service.h"
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
    std::filesystem::path jsonl;          // also write the result's points as lines of JSON; empty: do not
    bool take_over = false;               // take the job over from a run that is alive or out of reach
    std::string command_line;             // for the record
};

// The job file, and what its app has read from its inputs: an App or a Service, never both.
struct OpenedJob {
    JobSpec spec;
    std::unique_ptr<App> app;
    std::unique_ptr<Service> service;

    PlannedApp& planned() const;
};

// A job that is ready to run.
struct PreparedJob : OpenedJob {
    Plan plan;
};

// Returns whether a job file is a pipe or a device, which cannot be read twice and by one process only.
bool is_piped_job(const std::string& path);

// Where the job's result goes: --output, or results/<job name>.h5.
std::filesystem::path result_path(const RunOptions& options, const JobSpec& spec);

// Makes MPI use the job's transport. Call it before MPI starts. If this process cannot read the job file, or
// the file is wrong (open_job reports it), Open MPI chooses.
void choose_transport(std::span<const AppEntry> apps, const RunOptions& options);

// The same for a program without a job file: leaves the choice to Open MPI, without interfaces that lead
// nowhere.
void choose_usual_transport();

// Collective: every rank calls. Reads the job file and its app's inputs. Throws AgreedError, also for options
// that ask a service for a result.
OpenedJob open_job(const Communicator& world, std::span<const AppEntry> apps, const RunOptions& options);

// Collective: every rank calls. Checks that the job's result, if it has one, can be written to its path and
// that the file system has space for it, even if a result exists already. Returns what it takes there
// (room_text()); empty if that is unknown or the result is complete. Throws AgreedError.
std::string check_place_and_room(const Communicator& world, const OpenedJob& job, const RunOptions& options);

// Collective: every rank calls. Plans for the machine it runs on. Throws AgreedError.
PreparedJob plan_job(const Communicator& world, OpenedJob job);

// A job that one process without MPI examines but does not run, for described machines.
class DescribedJob {
  public:
    // Throws Error: JobError for a wrong job file, and what the app finds wrong with its inputs.
    DescribedJob(std::span<const AppEntry> apps, const RunOptions& options);

    const JobSpec& spec() const { return opened_.spec; }
    const Service* service() const { return opened_.service.get(); }           // nullptr: it has a result
    ResultLayout layout() const { return opened_.app->layout(opened_.spec); }  // not of a service
    Plan plan(const Topology& topology) const;

  private:
    OpenedJob opened_;
};

// Collective: every rank calls. Runs the job, resumes what earlier runs have left, and consolidates its
// result; a service serves until it is stopped. A complete result is not planned, so any machine can report
// it. Returns Done or Stopped. Throws AgreedError on all ranks alike; a rank that fails alone prints its
// error and ends all ranks (MpiSession::abort).
ExitCode run_job(const MpiSession& mpi, StopSignals& signals, std::span<const AppEntry> apps,
                 const RunOptions& options);

}  // namespace voltpile
