// Runs the program for one point: environment, folder, logs, time limit, outputs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "command/outputs.h"
#include "command/placeholders.h"
#include "command/program.h"
#include "command/run_record.h"
#include "command/text_template.h"
#include "job/job_spec.h"
#include "run/rank_context.h"
#include "work/work_scheduler.h"

namespace voltpile::command {

class PointRunner {
  public:
    // Keeps references to all arguments.
    PointRunner(const JobSpec& job, const Outputs& outputs, const RankContext& rank);

    // Runs the program once. Adds its progress to `work`. Returns nothing if the job stops before its end.
    // Throws Error if the program cannot be started, and, if the job is to fail then, for a run that fails.
    std::optional<RunRecord> run(std::int64_t point, WorkScheduler& work);

  private:
    struct Logs {
        std::filesystem::path out, err;
        std::uintmax_t out_begin = 0, err_begin = 0;  // where this run's part begins
    };
    Logs logs_of(std::int64_t point) const;
    ProgramRequest request_of(const TemplateValues& values, const Logs& logs) const;
    Extracted outputs_of(const TemplateValues& values, const Logs& logs) const;
    void fail(std::int64_t point, const std::string& problem, const Logs& logs);

    const JobSpec& job_;
    const Outputs& outputs_;
    const RankContext& rank_;
    bool stop_on_failure_;
    bool warned_ = false;
};

}  // namespace voltpile::command
