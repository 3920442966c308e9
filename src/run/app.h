// The interface of an app. To add one: a folder under apps/, a row in the table of apps/main.cpp, a job file
// and a test (docs/add_an_app.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "job/key_spec.h"
#include "plan/plan.h"
#include "results/field.h"
#include "results/result_layout.h"

namespace voltpile {

class Communicator;
class GpuDuty;
class MpiSession;
class RankContext;
class Service;
class WorkScheduler;
class ResultWriter;

// What apps have in common, whether they compute a result or serve (run/service.h).
class PlannedApp {
  public:
    virtual ~PlannedApp() = default;

    // Reads what is not in the job file, such as input files. It is called first. Collective: every rank
    // calls, from its main thread; afterwards all ranks know the same. `world` is nullptr where one process
    // without MPI only plans a job. Throws AgreedError, or any Error without `world`.
    virtual void prepare(const Communicator* world) { static_cast<void>(world); }

    // What there is to do. A service has no points; its unit and flop_per_unit say how fast it is.
    virtual Workload workload() const = 0;

    // Plans who does what; each rank calls it by itself. An app whose ranks work in teams overrides it. The
    // last plan is the one that counts.
    virtual Plan plan(const PlanOptions& options, const Topology& topology);

    // Passes on how much GPUs may work and when they begin. Called on every rank before App::connect() or
    // Service::serve(), if the job's [power] limits GPUs. `duty` outlives App::disconnect() and serve().
    virtual void keep_to(const GpuDuty& duty) { static_cast<void>(duty); }

    // Returns what the user should know before anything is computed, though it is not an error.
    virtual std::vector<std::string> warnings() const { return {}; }
};

// How a job wants its result to be checked.
struct CheckPlan {
    std::int64_t points = 0;  // size of the random sample
    std::int64_t seed = 0;
    double within = 0;   // the difference that counts as right, in the unit of each field
    std::string method;  // of the reference, for people
};

class App : public PlannedApp {
  public:
    // Returns the fields it writes at every point of the sweep.
    virtual std::vector<FieldSpec> fields() const = 0;

    // Throws JobError if runs of different shards (--shard) cannot divide its points among them.
    virtual void refuse_shards() const {}

    // Returns the layout of the result: by default the fields along the job file's sweep. An app with other
    // points, or with inputs beside the job file, overrides it.
    virtual ResultLayout layout(const JobSpec& job) const;

    // Returns how the job wants its result to be checked; nothing: not at all.
    virtual std::optional<CheckPlan> check() const { return std::nullopt; }

    // Returns an app that computes the fields that can be checked at these points of the sweep, more exactly.
    // Its own points are numbered 0, 1, ... in the order of `points`, which rises. Called only if check()
    // returns a plan.
    virtual std::unique_ptr<App> reference(const JobSpec& job, std::vector<std::int64_t> points) const;

    // Called before and after run(). Collective: every rank calls, also ranks in no team, from its main
    // thread. An app whose run() calls MPI hands its communicators over (comm/mpi/communicator.h) and back.
    virtual void connect(const MpiSession& mpi) { static_cast<void>(mpi); }
    virtual void disconnect() {}

    // Takes ranges from `work` until there are none and submits each to `results`, whole or in pieces. When
    // the job stops early (WorkScheduler::stopping()), the pieces submitted so far count. Runs on a thread of
    // its own on every rank that is in a team, so it may block. Only the first rank of each team gets ranges;
    // the others do what it tells them and return when it does. Throws Error.
    virtual void run(RankContext& rank, WorkScheduler& work, ResultWriter& results) = 0;
};

// A row of the table of apps. It makes either an App or a Service.
struct AppEntry {
    AppSchema schema;
    std::function<std::unique_ptr<App>(const JobSpec&)> make = {};
    std::function<std::unique_ptr<Service>(const JobSpec&)> make_service = {};
    // Called on rank 0 with the finished result. Throws FileError, with which the run ends, if it has nothing
    // of use; it stays.
    std::function<void(const JobSpec&, const std::filesystem::path& result)> judge = {};
};

}  // namespace voltpile
