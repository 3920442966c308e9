// The command app: runs a program at every point of a sweep, or once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command/outputs.h"
#include "command/run_record.h"
#include "job/job_spec.h"
#include "run/app.h"

namespace voltpile {

class CommandApp : public App {
  public:
    explicit CommandApp(const JobSpec& job) : job_(job), outputs_(job) {}

    std::vector<FieldSpec> fields() const override;
    Workload workload() const override;
    Plan plan(const PlanOptions& options, const Topology& topology) override;

    // Looks for the program on every rank's host.
    void connect(const MpiSession& mpi) override;

    // Runs the program for one point after the other. A run that the job's end interrupts is not recorded.
    void run(RankContext& rank, WorkScheduler& work, ResultWriter& results) override;

  private:
    void check_program() const;

    JobSpec job_;
    command::Outputs outputs_;
};

std::unique_ptr<App> make_command(const JobSpec& job);

}  // namespace voltpile
