#include "results/part_folder.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "results/durable_file.h"
#include "results/lock_file.h"
#include "results/part_file.h"
#include "results/part_listing.h"

namespace voltpile {
namespace {

void create_folder(const std::filesystem::path& folder) {
    std::error_code error;
    const bool is_new = std::filesystem::create_directories(folder, error);
    if (!error && !std::filesystem::is_directory(folder, error))
        error.assign(ENOTDIR, std::generic_category());
    if (error) throw FileError("create the folder", folder.string(), error.value(), ExitCode::BadInput);
    if (is_new) sync_folder(folder_of(folder));
}

void check_can_be_written(const std::filesystem::path& folder) {
    if (::access(folder.c_str(), W_OK | X_OK) != 0) {
        throw FileError("write to the folder", folder.string(), errno, ExitCode::BadInput);
    }
}

// A folder without a manifest is ours only if it is empty, but for what a run leaves that died while it began
// or ended.
void check_is_adoptable(const std::filesystem::path& folder) {
    for (const std::filesystem::path& entry : list_folder(folder)) {
        if (entry.filename() == lock_name || entry.filename() == replaces_name || is_temporary(entry))
            continue;
        throw JobError(fmt::format(
            "{} is needed for unfinished results but holds other files ({}): they are left alone; "
            "choose another --output",
            folder.string(), entry.filename().string()));
    }
}

void check_belongs(const std::filesystem::path& result, const ResultLayout& found,
                   const ResultLayout& layout) {
    if (found.fingerprint == layout.fingerprint) return;
    throw JobError(
        fmt::format("{} is unfinished from another job: {} with fingerprint {}, but this job ({}) has {}; "
                    "--fresh discards it, --output writes elsewhere",
                    result.string(), found.job_path, found.fingerprint, layout.job_path, layout.fingerprint));
}

void remove_entry(const std::filesystem::path& path) {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    if (error) throw FileError("remove", path.string(), error.value());
}

void discard_parts(const std::filesystem::path& folder) {
    for (const std::filesystem::path& entry : list_folder(folder)) {
        const bool kept = entry.filename() == manifest_name || entry.filename() == lock_name;
        if (is_ours(entry) && !kept) remove_entry(entry);
    }
}

}  // namespace

std::filesystem::path parts_path(const std::filesystem::path& result) {
    return result.string() + ".parts";
}

void commit_part(const std::filesystem::path& parts, const ResultLayout& layout, WorkRange range,
                 const std::vector<FieldBuffer>& data) {
    const std::filesystem::path path = parts / part_name(range);
    const std::vector<std::byte> image = part_image(path, layout, range, data);
    try {
        write_file_durably(path, image);
    } catch (...) {
        discard_file(path);  // it may have got its name but not the folder's fsync
        throw;
    }
}

PartFolder::PartFolder(const std::filesystem::path& result, const ResultLayout& layout, IfOther if_other)
    : path_(parts_path(result)) {
    create_folder(path_);
    check_can_be_written(path_);
    // First without touching anything, then again under the lock.
    if (!read_manifest(path_)) check_is_adoptable(path_);
    FileDescriptor lock = acquire_lock(path_ / lock_name, result);
    const std::optional<ResultLayout> found = read_manifest(path_);
    if (!found) check_is_adoptable(path_);
    if (if_other == IfOther::Discard) {
        discard_parts(path_);
    } else if (found) {
        check_belongs(result, *found, layout);
    }
    write_manifest(path_, layout);
    std::error_code error;
    if (if_other == IfOther::Discard && std::filesystem::exists(result, error))
        write_file_durably(path_ / replaces_name, {});
    lock_fd_ = lock.release();
}

PartFolder::~PartFolder() {
    if (lock_fd_ >= 0) ::close(lock_fd_);
}

void PartFolder::remove() {
    // The manifest goes after the parts: without it they would be nobody's. The lock goes last. Nothing is
    // removed that may be somebody else's.
    for (const std::filesystem::path& entry : list_folder(path_)) {
        const bool last = entry.filename() == manifest_name || entry.filename() == lock_name;
        if (is_ours(entry) && !last && !std::filesystem::is_directory(std::filesystem::symlink_status(entry)))
            remove_entry(entry);
    }
    remove_entry(path_ / manifest_name);
    remove_entry(path_ / lock_name);
    std::error_code error;
    std::filesystem::remove(path_, error);
    if (error) spdlog::warn("{} holds files that are not voltpile's: it stays", path_.string());
}

bool parts_replace_result(const std::filesystem::path& result, const std::string& fingerprint) {
    const std::filesystem::path parts = parts_path(result);
    std::error_code error;
    if (!std::filesystem::is_regular_file(parts / replaces_name, error)) return false;
    const std::optional<ResultLayout> found = read_manifest(parts);
    return found && found->fingerprint == fingerprint;
}

}  // namespace voltpile
