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

class GpuSweep;

class RootmapApp : public App {
  public:
    explicit RootmapApp(const JobSpec& job);

    std::vector<FieldSpec> fields() const override;
    Workload workload() const override { return workload_; }
    std::vector<std::string> warnings() const override;

    Plan plan(const PlanOptions& options, const Topology& topology) override;

    std::optional<CheckPlan> check() const override { return check_; }
    std::unique_ptr<App> reference(const JobSpec& job, std::vector<std::int64_t> points) const override;

    // Prepares this rank's GPU, if the plan gives it one, before the first range.
    void keep_to(const GpuDuty& duty) override { duty_ = &duty; }
    void connect(const MpiSession& mpi) override;
    void disconnect() override;

    // Computes on this rank's GPU if the plan gives it one, else on its cores.
    void run(RankContext& rank, WorkScheduler& work, ResultWriter& results) override;

  private:
    rootmap::Problem problem_;
    std::vector<double> frames_, orbit_;  // problem_ points to them
    std::vector<OutcomeField> fields_;
    std::optional<CheckPlan> check_;
    Workload workload_;
    std::int64_t frame_count_, frame_points_;
    std::vector<RankPlan> ranks_;          // of the last plan
    const GpuDuty* duty_ = nullptr;        // nullptr: GPUs work all the time
    std::shared_ptr<GpuSweep> gpu_sweep_;  // from connect() to disconnect(); null without a GPU
};

std::unique_ptr<App> make_rootmap(const JobSpec& job);

}  // namespace voltpile
