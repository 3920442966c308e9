// The root-map app: iterates a map of the plane from a grid of starts or constants.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "job/job_spec.h"
#include "rootmap/problem.h"
#include "sweep/sweep_app.h"

namespace voltpile {

class RootmapApp : public SweepApp {
  public:
    explicit RootmapApp(const JobSpec& job);

    Workload workload() const override { return workload_; }
    std::vector<std::string> warnings() const override;

    std::optional<CheckPlan> check() const override { return check_; }
    std::unique_ptr<App> reference(const JobSpec& job, std::vector<std::int64_t> points) const override;

  protected:
    void sweep_points(PointStream& stream) const override;
    std::unique_ptr<GpuProgram> gpu_program() const override;

  private:
    rootmap::Problem problem_;
    std::vector<double> frames_, orbit_;  // problem_ points to them
    std::optional<CheckPlan> check_;
    Workload workload_;
    std::int64_t frame_count_, frame_points_;
};

std::unique_ptr<App> make_rootmap(const JobSpec& job);

}  // namespace voltpile
