#include "results/parts/unused_parts.h"

#include <unistd.h>

#include <algorithm>

#include "results/parts/lock_file.h"
#include "results/parts/part_listing.h"

namespace voltpile {
namespace {

// The locks of all shards, and the one to put the result together.
std::vector<std::filesystem::path> all_locks(const std::filesystem::path& parts) {
    std::vector<std::filesystem::path> locks = lock_files(parts);
    std::error_code error;
    if (std::filesystem::exists(parts / result_lock_name, error)) locks.push_back(parts / result_lock_name);
    return locks;
}

bool is_plain_folder(const std::filesystem::path& path) {
    std::error_code error;
    return std::filesystem::is_directory(std::filesystem::symlink_status(path, error));
}

// The only folders that are ours are those of lives, whatever the names of others.
bool may_remove(const std::filesystem::path& entry) {
    return is_ours(entry) && (is_life(entry) || !is_plain_folder(entry));
}

}  // namespace

std::vector<PartsWriter> writers_of(const std::filesystem::path& parts) {
    std::vector<PartsWriter> writers;
    for (const std::filesystem::path& lock : all_locks(parts)) {
        if (!is_locked(lock)) continue;
        PartsWriter writer{lock, std::nullopt};
        if (const auto record = read_lock(lock)) writer.run = record->run;
        writers.push_back(std::move(writer));
    }
    return writers;
}

bool is_parts_folder(const std::filesystem::path& folder) {
    if (folder.extension() != ".parts" || !is_plain_folder(folder)) return false;
    std::error_code error;
    if (std::filesystem::is_regular_file(folder / manifest_name, error)) return true;
    const auto entries = list_folder(folder);
    return !entries.empty() && std::ranges::all_of(entries, is_ours);
}

bool remove_unused_parts(const std::filesystem::path& parts) {
    std::vector<std::filesystem::path> locks = all_locks(parts);
    const std::filesystem::path whole = parts / lock_name({});  // what a run takes first
    if (std::ranges::find(locks, whole) == locks.end()) locks.push_back(whole);
    std::vector<FileDescriptor> held;
    for (const std::filesystem::path& path : locks) {
        std::optional<FileDescriptor> lock = try_lock(path);
        if (!lock) return false;
        held.push_back(std::move(*lock));
    }
    // In the order of PartFolder::remove: without the mark the parts replace nothing; without the manifest
    // they would belong to no job; the locks last.
    remove_entry(parts / replaces_name);
    const auto is_lock = [&](const std::filesystem::path& entry) {
        return std::ranges::find(locks, entry) != locks.end();
    };
    for (const std::filesystem::path& entry : list_folder(parts))
        if (may_remove(entry) && entry.filename() != manifest_name && !is_lock(entry)) remove_entry(entry);
    remove_entry(parts / manifest_name);
    for (const std::filesystem::path& lock : locks) remove_entry(lock);
    ::rmdir(parts.c_str());  // stays if it holds files that are not voltpile's
    return true;
}

}  // namespace voltpile
