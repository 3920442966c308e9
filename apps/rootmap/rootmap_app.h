// The root-map app: iterates a map of the plane from a grid of starts or constants.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "job/job_spec.h"
#include "rootmap/problem.h"
#include "run/app.h"
#include "sweep/outcome_field.h"

namespace voltpile {

class RootmapApp : public App {
  public:
    explicit RootmapApp(const JobSpec& job);

    std::vector<FieldSpec> fields() const override;
    Workload workload() const override { return workload_; }
    std::vector<std::string> warnings() const override;

    // On CPU cores: there is no GPU kernel.
    Plan plan(const PlanOptions& options, const Topology& topology) override;

    std::optional<CheckPlan> check() const override { return check_; }
    std::unique_ptr<App> reference(const JobSpec& job, std::vector<std::int64_t> points) const override;

    void run(RankContext& rank, WorkScheduler& work, ResultWriter& results) override;

  private:
    rootmap::Problem problem_;
    std::vector<double> frames_, orbit_;  // problem_ points to them
    std::vector<OutcomeField> fields_;
    std::optional<CheckPlan> check_;
    Workload workload_;
    std::int64_t frame_count_, frame_points_;
};

std::unique_ptr<App> make_rootmap(const JobSpec& job);

}  // namespace voltpile
