// What becomes of a job whose runs failed.
#pragma once

#include <filesystem>
#include <string>

#include "command/run_record.h"
#include "job/job_spec.h"

namespace voltpile {

// Throws FinalError if every run of the sweep failed, unless the job says command.on_failure = "record": then
// more likely the job or the machine is wrong than the program's arguments.
void judge_command(const JobSpec& job, const std::filesystem::path& result);

namespace command {

// Ends the job because this run failed: throws FinalError if the same run would fail again, else FileError.
[[noreturn]] void fail_job(const JobSpec& job, const RunRecord& record, const std::string& text);

}  // namespace command

}  // namespace voltpile
