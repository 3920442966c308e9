// The n-body app: integrates a few bodies from every start of a sweep or of a table.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "job/job_spec.h"
#include "nbody/problem.h"
#include "nbody/start_table.h"
#include "run/app.h"
#include "sweep/outcome_field.h"

namespace voltpile {

class NbodyApp : public App {
  public:
    explicit NbodyApp(const JobSpec& job);

    // Reads the table, on rank 0 for all.
    void prepare(const Communicator* world) override;

    std::vector<FieldSpec> fields() const override;
    ResultLayout layout(const JobSpec& job) const override;
    Workload workload() const override { return workload_; }

    // On CPU cores: there is no GPU kernel.
    Plan plan(const PlanOptions& options, const Topology& topology) override;

    std::optional<CheckPlan> check() const override { return check_; }
    std::unique_ptr<App> reference(const JobSpec& job, std::vector<std::int64_t> points) const override;

    void run(RankContext& rank, WorkScheduler& work, ResultWriter& results) override;

  private:
    JobSpec job_;
    nbody::Problem problem_;
    std::vector<double> frames_;  // problem_ points to it
    nbody::StartTable table_;     // problem_ points to it; without columns: none
    std::vector<OutcomeField> fields_;
    std::optional<CheckPlan> check_;
    Workload workload_;
};

std::unique_ptr<App> make_nbody(const JobSpec& job);

}  // namespace voltpile
