// The names that templates of a job may use, and their values: the axes of the sweep, the point, and what the
// plan gives to a rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "command/text_template.h"
#include "job/job_spec.h"
#include "run/rank_context.h"

namespace voltpile::command {

// Returns the names that every job has beside the axes of its sweep.
std::vector<std::string> common_names();

// Returns values of the right types for checking formats before anything runs.
TemplateValues sample_values(const JobSpec& job);

// Returns the values for a run of `point` on this rank.
TemplateValues values_of(const JobSpec& job, const RankContext& rank, std::int64_t point);

// Returns "x = 0.5, n = 3"; empty without a sweep.
std::string axes_text(const JobSpec& job, std::int64_t point);

// Returns the folder of the job file, absolute.
std::string job_folder(const JobSpec& job);

}  // namespace voltpile::command
