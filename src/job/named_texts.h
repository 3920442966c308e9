// Tables of a job file whose keys have any names, such as environment variables.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "job/job_spec.h"

namespace voltpile {

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

// Returns the names and values of such a table by its key ("environment.NAME"), sorted by name.
NamedTexts named_texts(const JobSpec& job, const std::string& path);

// Does the same in the order of the job file, if the key has KeySpec::file_order.
NamedTexts named_texts_in_order(const JobSpec& job, const std::string& path);

}  // namespace voltpile
