// Whether the result of a sweep over a program's arguments is worth anything.
#pragma once

#include <filesystem>

#include "job/job_spec.h"

namespace voltpile {

// Throws FileError if every run of the sweep failed, unless the job says command.on_failure = "record": then
// more likely the job or the machine is wrong than the program's arguments.
void judge_command(const JobSpec& job, const std::filesystem::path& result);

}  // namespace voltpile
