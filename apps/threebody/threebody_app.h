// The three-body app: computes how long a system and its slightly shifted twin stay together, over a grid of
// starting values.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "job/job_spec.h"
#include "sweep/sweep_app.h"
#include "threebody/problem.h"

namespace voltpile {

class ThreebodyApp : public SweepApp {
  public:
    explicit ThreebodyApp(const JobSpec& job);

    Workload workload() const override;
    std::vector<std::string> warnings() const override;

    std::optional<CheckPlan> check() const override { return check_; }
    std::unique_ptr<App> reference(const JobSpec& job, std::vector<std::int64_t> points) const override;

  protected:
    void sweep_points(PointStream& stream) const override;
    std::unique_ptr<GpuProgram> gpu_program() const override;

  private:
    threebody::Problem problem_;
    std::vector<double> frames_;  // problem_ points to it
    std::optional<CheckPlan> check_;
    std::int64_t points_, frame_count_;
    double steps_per_point_;  // estimated
};

std::unique_ptr<App> make_threebody(const JobSpec& job);

}  // namespace voltpile
