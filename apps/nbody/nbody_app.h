// The n-body app: integrates a few bodies from every start of a sweep or of a table.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "job/job_spec.h"
#include "nbody/problem.h"
#include "nbody/start_table.h"
#include "sweep/sweep_app.h"

namespace voltpile {

class NbodyApp : public SweepApp {
  public:
    explicit NbodyApp(const JobSpec& job);

    // Reads the table, on rank 0 for all.
    void prepare(const Communicator* world) override;

    ResultLayout layout(const JobSpec& job) const override;
    Workload workload() const override { return workload_; }

    std::optional<CheckPlan> check() const override { return check_; }
    std::unique_ptr<App> reference(const JobSpec& job, std::vector<std::int64_t> points) const override;

  protected:
    void sweep_points(PointStream& stream) const override;
    std::unique_ptr<GpuProgram> gpu_program() const override;

  private:
    JobSpec job_;
    nbody::Problem problem_;
    std::vector<double> frames_;  // problem_ points to it
    nbody::StartTable table_;     // problem_ points to it; without columns: none
    std::optional<CheckPlan> check_;
    Workload workload_;
};

std::unique_ptr<App> make_nbody(const JobSpec& job);

}  // namespace voltpile
