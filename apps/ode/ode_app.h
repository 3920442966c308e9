// The ode app: integrates the differential equations of a job file over a sweep.
#pragma once

#include <memory>
#include <vector>

#include "job/job_spec.h"
#include "ode/problem_from_job.h"
#include "sweep/sweep_app.h"

namespace voltpile {

class OdeApp : public SweepApp {
  public:
    explicit OdeApp(const JobSpec& job);

    Workload workload() const override { return workload_; }

  protected:
    void sweep_points(PointStream& stream) const override;
    std::unique_ptr<GpuProgram> gpu_program() const override;

  private:
    ode::JobProblem problem_;
    Workload workload_;
};

std::unique_ptr<App> make_ode(const JobSpec& job);

}  // namespace voltpile
