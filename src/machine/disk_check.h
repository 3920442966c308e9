// Whether the folders that a job writes to have room.
#pragma once

#include <filesystem>
#include <vector>

#include "machine/node_check.h"

namespace voltpile {

// Checks /dev/shm, the folder for temporary files ($TMPDIR, or /tmp) and `folders`, each file system once.
// Finds folders that are not there or read-only, and file systems with little space or few files left.
std::vector<NodeFinding> check_disks(const std::vector<std::filesystem::path>& folders);

// The finding about one folder. needed: bytes; none: there is enough room.
std::vector<NodeFinding> check_disk(const std::filesystem::path& folder, double needed);

}  // namespace voltpile
