// One writer at a time, across processes and (where the file system supports flock) across hosts.
#pragma once

#include <filesystem>

#include "results/durable_file.h"

namespace voltpile {

// Creates and locks `path` and writes "pid <pid> on <host>" into it; the lock ends when the descriptor is
// closed or the process dies. Throws FileError: CannotRun and "another run is writing <what> (pid 7 on
// node1)" if it is held.
FileDescriptor acquire_lock(const std::filesystem::path& path, const std::filesystem::path& what);

}  // namespace voltpile
