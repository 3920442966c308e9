// The ode app: integrates the differential equations of a job file over a sweep.
#pragma once

#include <memory>
#include <vector>

#include "job/job_spec.h"
#include "ode/problem_from_job.h"
#include "run/app.h"
#include "sweep/outcome_field.h"

namespace voltpile {

class OdeApp : public App {
  public:
    explicit OdeApp(const JobSpec& job);

    std::vector<FieldSpec> fields() const override;
    Workload workload() const override { return workload_; }

    // On CPU cores: there is no GPU kernel.
    Plan plan(const PlanOptions& options, const Topology& topology) override;

    void run(RankContext& rank, WorkScheduler& work, ResultWriter& results) override;

  private:
    ode::JobProblem problem_;
    std::vector<OutcomeField> fields_;
    Workload workload_;
};

std::unique_ptr<App> make_ode(const JobSpec& job);

}  // namespace voltpile
