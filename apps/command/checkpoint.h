// The checkpoints that a program leaves, from which it can go on.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace voltpile::command {

// Returns the files and folders that a pattern of the shell ("step-*.pt") matches, by name.
std::vector<std::filesystem::path> paths_that_match(const std::string& pattern);

struct Checkpoint {
    std::filesystem::path path;
    double changed_s = 0;  // seconds since 1970
};

// Returns the newest file or folder that matches, unless it is older than `begin_s`, in seconds since 1970.
// Of several with the same time it is the last by name.
std::optional<Checkpoint> newest_checkpoint(const std::string& pattern, double begin_s);

// Returns when the first run began that worked on this result, in seconds since 1970; now, if its part folder
// is not visible from this host.
double begin_of_job(const std::filesystem::path& result);

}  // namespace voltpile::command
