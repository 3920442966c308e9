// Files that travel from rank 0 to the working folder of each run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "job/job_spec.h"

namespace voltpile::command {

// The file that a staged file was read from.
struct StagedSource {
    std::string path;  // absolute; empty: none
    std::string host;  // host_identity() of rank 0
    std::uint64_t inode = 0;
};

struct StagedFile {
    std::string name;  // without folders
    std::string bytes;
    bool executable = false;
    StagedSource source = {};
};

// Reads the files that the patterns of command.stage match. Throws JobError if a pattern matches none, two
// files have the same name, or all together are larger than 1 GiB; FileError if one cannot be read.
std::vector<StagedFile> read_staged_files(const JobSpec& job);

std::string to_bytes(const std::vector<StagedFile>& files);
std::vector<StagedFile> staged_files_from(const std::string& bytes);

// Writes the files to a folder that exists. Each appears at once under its name, so that several runs may
// share the folder. A source is not replaced by its copy. Throws FileError.
void write_staged_files(const std::vector<StagedFile>& files, const std::filesystem::path& folder);

}  // namespace voltpile::command
