// The names that templates of a job may use, and their values: the axes of the sweep, the point, what the
// plan gives to a rank, and how the instances of a program find each other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "command/resources.h"
#include "command/text_template.h"
#include "job/job_spec.h"
#include "plan/plan.h"

namespace voltpile::command {

// Returns the names that every job has.
std::vector<std::string> common_names();

// Returns the names that only jobs without a sweep have, so that an axis may have them in others.
std::vector<std::string> instance_names();

// Returns values of the right types for checking formats before anything runs.
TemplateValues sample_values(const JobSpec& job);

// Returns the values for a run of `point` with these resources. {folder} is left to the caller.
TemplateValues values_of(const JobSpec& job, const Resources& resources, const std::filesystem::path& result,
                         std::int64_t point);

// Where the first instance expects the others.
struct MeetingPlace {
    std::string address;
    std::int64_t port = 0;
};

// Adds the values of instance_names() for a rank. Call it on this rank.
void add_instance_values(TemplateValues& values, const JobSpec& job, const Plan& plan, int rank,
                         const MeetingPlace& meeting);

// Returns "x = 0.5, n = 3"; empty without a sweep.
std::string axes_text(const JobSpec& job, std::int64_t point);

// Returns the folder of the job file, absolute.
std::string job_folder(const JobSpec& job);

}  // namespace voltpile::command
