// One writer at a time, across processes and (where the file system supports flock) across hosts. The lock is
// a courtesy between runs that are alive: it lets the second one refuse. What makes two writers impossible is
// the fence (results/parts/life.h). Private to src/results.
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
// Held by the one of several shards that puts the result together.
inline constexpr const char* result_lock_name = "lock-result";

// The locks that there are in a part folder, of any shard, held or not; none if it cannot be listed.
std::vector<std::filesystem::path> lock_files(const std::filesystem::path& parts);

// Creates `path` if need be and locks it, until the descriptor is closed or the process dies. Nothing if
// somebody else holds it. Throws FileError.
std::optional<FileDescriptor> try_lock(const std::filesystem::path& path);

bool is_locked(const std::filesystem::path& path);  // by anybody; false if it is not there

// False once somebody has deleted or replaced the file.
bool is_still_there(const FileDescriptor& lock, const std::filesystem::path& path);

// Says in a lock file who holds it.
void write_lock(const FileDescriptor& lock, const std::filesystem::path& path, const LifeRecord& holder);
std::optional<LifeRecord> read_lock(const std::filesystem::path& path);  // nothing if it does not say

// Puts a new lock, held by us, in the place of one that is held by a run that has been taken over.
FileDescriptor replace_lock(const Life& life, const std::filesystem::path& path, const LifeRecord& holder);

}  // namespace voltpile
