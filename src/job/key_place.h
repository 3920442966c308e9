// Where a job file sets a key, for messages about values that are found to be wrong later.
#pragma once

#include <string>

#include "job/job_spec.h"

namespace voltpile {

// Returns "job.toml:7" or "--set run.device=cpu"; for a key that is not set, the line of its table, or the
// file.
std::string place_of_key(const JobSpec& job, const std::string& path);

}  // namespace voltpile
