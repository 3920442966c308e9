// What lies under a folder, for `voltpile list` and `voltpile clean`: results, unfinished jobs, part folders
// that a finished job has left, and servers. Reads headers and touches nothing, so jobs may be running
// meanwhile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cluster/server_listing.h"
#include "results/parts/unused_parts.h"

namespace voltpile {

enum class FoundKind {
    Complete,    // a result
    Unfinished,  // a part folder that can be resumed
    LeftOver,    // a part folder beside its complete result: a run was killed before it removed the folder
    Damaged,     // a file that began as a result and cannot be read
};

struct FoundResult {
    FoundKind kind = FoundKind::Complete;
    std::filesystem::path result;  // also for part folders, where it may not exist yet
    std::filesystem::path place;   // the file or the part folder
    std::string app;               // "" if it cannot be read
    std::string job_path;
    std::int64_t points = 0, points_done = 0;
    std::uintmax_t bytes = 0;          // of the file, or of all files in the part folder
    double age_s = 0;                  // since the last change
    std::vector<PartsWriter> writers;  // runs that are writing now
    std::string problem;               // why it cannot be read; "" if it can
};

struct FolderListing {  // each sorted by path
    std::vector<FoundResult> results;
    std::vector<FoundServer> servers;
};

// Returns what lies in `folder` and all folders below it. Skips hidden folders, symbolic links, files that
// are not Voltpile's, and files that it may not read. Throws JobError if `folder` is not a folder.
FolderListing list_jobs_in(const std::filesystem::path& folder);

// Returns a table for the terminal, one line per result, or a message that there are none.
std::string listing_text(const std::vector<FoundResult>& found, const std::filesystem::path& folder);

// "done" as people read it: "complete", "40.6 %", "left over", "damaged".
std::string progress_text(const FoundResult& found);

}  // namespace voltpile
