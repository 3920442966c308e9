// The command app: runs a program at every point of a sweep, or once, or one instance on each node or rank.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/mpi/communicator.h"
#include "command/instances.h"
#include "command/outputs.h"
#include "command/program_run.h"
#include "command/run_record.h"
#include "command/staged_files.h"
#include "job/job_spec.h"
#include "run/app.h"

namespace voltpile {

class CommandApp : public App {
  public:
    explicit CommandApp(const JobSpec& job) : job_(job), spread_(command::spread_of(job)), outputs_(job) {}

    // Counts the instances.
    void prepare(const Communicator* world) override;

    void refuse_shards() const override;
    std::vector<FieldSpec> fields() const override;
    Workload workload() const override;
    ResultLayout layout(const JobSpec& job) const override;
    Plan plan(const PlanOptions& options, const Topology& topology) override;

    // Looks for the program on every rank's host, and brings the staged files there.
    void connect(const MpiSession& mpi) override;
    void disconnect() override { ranks_.reset(); }
    void keep_to(const GpuDuty& duty) override { duty_ = &duty; }

    // Runs the program for one point after the other, or all instances. A run that the job's end interrupts
    // is not recorded.
    void run(RankContext& rank, WorkScheduler& work, ResultWriter& results) override;

  private:
    void check_program() const;
    Plan plan_instances(const PlanOptions& options, const Topology& topology) const;
    void run_points(RankContext& rank, WorkScheduler& work, ResultWriter& results,
                    command::ProgramRunner& runner) const;
    void report_failure(std::int64_t point, const command::RunRecord& record, const std::string& log,
                        bool& warned) const;

    JobSpec job_;
    command::Spread spread_;
    command::Outputs outputs_;
    std::int64_t instances_ = 1;
    std::vector<command::StagedFile> staged_;
    const GpuDuty* duty_ = nullptr;        // that the programs keep to
    std::unique_ptr<Communicator> ranks_;  // for the messages of instances
};

std::unique_ptr<App> make_command(const JobSpec& job);

}  // namespace voltpile
