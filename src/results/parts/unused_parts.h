// Inspects part folders from outside their job: which run writes there; and removes stale ones.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "results/parts/lives_journal.h"

namespace voltpile {

// A run that holds a lock of a part folder.
struct PartsWriter {
    std::filesystem::path lock;
    std::optional<RunIdentity> run;  // nothing if the lock file does not say
};

// Returns the runs that are writing now, one for each shard; none if there is no such folder. Locks are seen
// across hosts where the file system supports flock.
std::vector<PartsWriter> writers_of(const std::filesystem::path& parts);

// Returns whether this is a part folder: `<result>.parts` with a manifest, or with nothing but voltpile's
// files.
bool is_parts_folder(const std::filesystem::path& folder);

// Deletes voltpile's files in the folder, and the folder if nothing else is in it. Holds the folder's locks
// meanwhile, so that no run can begin. Returns false, and nothing has changed, if a run is writing there.
// Throws FileError.
bool remove_unused_parts(const std::filesystem::path& parts);

}  // namespace voltpile
