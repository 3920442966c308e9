// Runs the program once: environment, folder, staged files, checkpoint, logs, progress, time limit, outputs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "command/outputs.h"
#include "command/program.h"
#include "command/progress_patterns.h"
#include "command/resources.h"
#include "command/run_record.h"
#include "command/staged_files.h"
#include "command/text_template.h"
#include "job/job_spec.h"
#include "work/gpu_duty.h"
#include "work/work_scheduler.h"

namespace voltpile::command {

// One run.
struct RunOrder {
    std::string name;       // of its logs: "point-3"
    TemplateValues values;  // of all names but {folder} and {checkpoint}
    Resources resources;
    double begin_s = 0;          // checkpoints from before are of another job; seconds since 1970
    bool needs_outputs = true;   // a value that is missing counts as a failure
    bool shows_progress = true;  // false: the patterns of [progress] need not match
};

class ProgramRunner {
  public:
    // Keeps references to all arguments.
    // duty: programs of ranks with GPUs keep to it; nullptr: they need not.
    ProgramRunner(const JobSpec& job, const Outputs& outputs, const std::vector<StagedFile>& staged,
                  const std::filesystem::path& result, const GpuDuty* duty);

    // Runs the program. Adds its progress to `work`. Ends it when `must_end`, which is called ten times a
    // second, returns true: then the outcome is Outcome::Ended. Returns nothing if the job stops before the
    // program's end. Throws Error if the program cannot be started.
    std::optional<RunRecord> run(
        const RunOrder& order, WorkScheduler& work,
        const std::function<bool()>& must_end = [] { return false; });

    // Removes what a run without problems has printed, if output.logs says so. run() does it itself if the
    // order needs the outputs.
    void drop_log(const std::string& name) const;

    // Returns the path of the file with the stdout of a run.
    std::filesystem::path log_of(const std::string& name) const;

  private:
    struct Logs {
        std::filesystem::path out, err;
        std::uintmax_t out_begin = 0, err_begin = 0;  // where this run's part begins
    };
    Logs logs_of(const std::string& name) const;
    static double printed_bytes(const Logs& logs);  // by this run
    std::string prepare_folder(const TemplateValues& values) const;
    ProgramRequest request_of(const RunOrder& order, const TemplateValues& values, const Logs& logs) const;
    void add_resume(std::vector<std::string>& argv, const RunOrder& order, TemplateValues values) const;
    bool await_ramp(WorkScheduler& work) const;
    void show_progress(const Logs& logs, WorkScheduler& work);
    void warn_of_unmatched();
    Extracted outputs_of(const TemplateValues& values, const Logs& logs) const;
    void judge(RunRecord& record, const RunOrder& order, const TemplateValues& values,
               const Logs& logs) const;

    const JobSpec& job_;
    const Outputs& outputs_;
    const std::vector<StagedFile>& staged_;
    const std::filesystem::path& result_;
    const GpuDuty* duty_;
    ProgressPatterns progress_;
    bool warned_ = false;
    bool ramped_ = false;  // this rank has begun
};

}  // namespace voltpile::command
