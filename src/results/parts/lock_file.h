// Locks that let one writer work at a time, across processes and, where the file system supports flock,
// across hosts. A lock only lets a second run refuse while the first one is alive; the fence
// (results/parts/life.h) is what makes two writers impossible. Private to src/results.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "results/parts/durable_file.h"
#include "results/parts/life.h"
#include "results/parts/lives_journal.h"

namespace voltpile {

std::string lock_name(const Shard& shard);  // "lock", "lock-2of4"
std::optional<Shard> parse_lock_name(const std::string& file_name);
// The shard that writes the result holds this lock.
inline constexpr const char* result_lock_name = "lock-result";

// Returns the lock files in a part folder, of any shard, held or not; none if the folder cannot be listed.
std::vector<std::filesystem::path> lock_files(const std::filesystem::path& parts);

// Creates `path` if needed and locks it, until the descriptor is closed or the process ends. Returns nothing
// if another process holds the lock. Throws FileError.
std::optional<FileDescriptor> try_lock(const std::filesystem::path& path);

bool is_locked(const std::filesystem::path& path);  // by any process; false if the file does not exist

// Returns false once another process has deleted or replaced the file.
bool is_still_there(const FileDescriptor& lock, const std::filesystem::path& path);

// Writes the holder into a lock file, and reads it; nothing if the file does not say.
void write_lock(const FileDescriptor& lock, const std::filesystem::path& path, const LifeRecord& holder);
std::optional<LifeRecord> read_lock(const std::filesystem::path& path);

// Replaces the lock of a run that was taken over by a new one, which this process holds.
FileDescriptor replace_lock(const Life& life, const std::filesystem::path& path, const LifeRecord& holder);

}  // namespace voltpile
