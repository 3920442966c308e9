// Tables of a job file whose keys have any names, such as environment variables.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "job/job_spec.h"

namespace voltpile {

// Returns the names and values of such a table by its key ("environment.NAME"), sorted by name.
std::vector<std::pair<std::string, std::string>> named_texts(const JobSpec& job, const std::string& path);

}  // namespace voltpile
