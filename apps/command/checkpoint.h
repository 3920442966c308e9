// The checkpoints that a program leaves, from which it can go on.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "command/text_template.h"
#include "job/job_spec.h"
#include "job/key_spec.h"

namespace voltpile::command {

// Returns the files and folders that a pattern of the shell ("step-*.pt") matches, by name.
std::vector<std::filesystem::path> paths_that_match(const std::string& pattern);

// Returns a pattern that matches only this text.
std::string literal_pattern(const std::string& text);

// Returns the path pattern of command.checkpoint for one run. `values` has {folder}; characters of its texts
// that have a meaning in patterns stand for themselves, as those of the template do not.
std::string checkpoint_pattern(const std::string& text, const TemplateValues& values);

struct Checkpoint {
    std::filesystem::path path;
    double changed_s = 0;  // seconds since 1970
};

// Returns the newest file or folder that matches, unless it is older than `begin_s`, in seconds since 1970.
// Of several with the same time it is the last by name.
std::optional<Checkpoint> newest_checkpoint(const std::string& pattern, double begin_s);

// Reports a sweep in which a point could find the checkpoints of another: {point} or all axes must be in
// their paths.
void check_checkpoints(const JobSpec& job, const ReportProblem& report);

// Returns when the first run began that worked on this result, in seconds since 1970; now, if its part folder
// is not visible from this host.
double begin_of_job(const std::filesystem::path& result);

}  // namespace voltpile::command
