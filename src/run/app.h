// What an app is to the spine. Adding one: its folder under apps/, one row in the table in apps/main.cpp, one
// job file, one test (docs/add_an_app.md).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "job/key_spec.h"
#include "plan/plan.h"
#include "results/field.h"
#include "results/result_layout.h"

namespace voltpile {

class Communicator;
class MpiSession;
class RankContext;
class WorkScheduler;
class ResultWriter;

class App {
  public:
    virtual ~App() = default;

    // First of all: what is not in the job file, such as input files. Collective: every rank calls, from its
    // main thread; world: nullptr where a job is only planned, by one process without MPI. All ranks must
    // know the same afterwards. Throws AgreedError (without world any Error).
    virtual void prepare(const Communicator* world) { static_cast<void>(world); }

    // What it writes at every point of the sweep.
    virtual std::vector<FieldSpec> fields() const = 0;

    virtual Workload workload() const = 0;

    // The result: the fields along the job file's sweep. An app whose points are others, or that has inputs
    // beside the job file, says so here.
    virtual ResultLayout layout(const JobSpec& job) const;

    // Who does what: each rank by itself. An app whose ranks work in teams says here in which. What is then
    // connected and run is the last one planned.
    virtual Plan plan(const PlanOptions& options, const Topology& topology);

    // What the user should know before anything is computed, though it is no error.
    virtual std::vector<std::string> warnings() const { return {}; }

    // Before and after run(). Collective: every rank calls, those in no team too, from its main thread. An
    // app whose run() calls MPI hands its communicators over (comm/mpi/communicator.h) and back.
    virtual void connect(const MpiSession& mpi) { static_cast<void>(mpi); }
    virtual void disconnect() {}

    // Takes ranges from `work` until there are none, and submits each to `results`: whole, or in pieces, of
    // which those count that have been submitted when the job is told to stop (WorkScheduler::stopping()).
    // Runs on a thread of its own, so it may block; throws Error on failure. On every rank that is in a team;
    // ranges come to the first rank of each team alone, the others do what that one has them do, and end when
    // it does.
    virtual void run(RankContext& rank, WorkScheduler& work, ResultWriter& results) = 0;
};

struct AppEntry {
    AppSchema schema;
    std::function<std::unique_ptr<App>(const JobSpec&)> make;
};

}  // namespace voltpile
