// What an app is to the spine. Adding one: its folder under apps/, one row in the table in apps/main.cpp, one
// job file, one test (docs/add_an_app.md).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "job/key_spec.h"
#include "plan/workload.h"
#include "results/field.h"

namespace voltpile {

class JobSpec;
class RankContext;
class WorkScheduler;
class ResultWriter;

class App {
  public:
    virtual ~App() = default;

    // What it writes at every point of the sweep.
    virtual std::vector<FieldSpec> fields() const = 0;

    virtual Workload workload() const = 0;

    // What the user should know before anything is computed, though it is no error.
    virtual std::vector<std::string> warnings() const { return {}; }

    // Takes ranges from `work` until there are none, and submits each, whole, to `results`. Runs on a thread
    // of its own, so it may block; throws Error on failure.
    virtual void run(RankContext& rank, WorkScheduler& work, ResultWriter& results) = 0;
};

struct AppEntry {
    AppSchema schema;
    std::function<std::unique_ptr<App>(const JobSpec&)> make;
};

}  // namespace voltpile
