#include "results/parts/durable_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <functional>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "base/host_name.h"
#include "results/parts/file_calls.h"

namespace voltpile {
namespace {

void write_all(int fd, std::span<const std::byte> bytes, const std::filesystem::path& temporary,
               const std::filesystem::path& target) {
    while (!bytes.empty()) {
        const ssize_t written = write_file(fd, bytes, temporary);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) throw FileError("write", target.string(), errno);
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
}

// written: what the file is called now. path: for errors.
void flush(int fd, FileCall call, const std::filesystem::path& written, const std::filesystem::path& path) {
    // Some network and user-space file systems have no fsync of folders (EINVAL). Then there is nothing to
    // wait for.
    if (sync_file(fd, written, call) != 0 && errno != EINVAL) throw FileError("write", path.string(), errno);
}

}  // namespace

std::filesystem::path folder_of(const std::filesystem::path& path) {
    return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

FileDescriptor::~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
}

std::filesystem::path temporary_name(const std::filesystem::path& target) {
    const std::size_t thread = std::hash<std::thread::id>{}(std::this_thread::get_id());
    const std::string ending =
        fmt::format(".{}-{}-{:x}{}", host_name(), ::getpid(), thread, temporary_ending);
    std::string name = target.filename().string();
    name.resize(std::min(name.size(), NAME_MAX - ending.size()));
    return target.parent_path() / (name + ending);
}

void sync_folder(const std::filesystem::path& folder) {
    FileDescriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd.get() < 0) throw FileError("open", folder.string(), errno);
    flush(fd.get(), FileCall::SyncFolder, folder, folder);
}

void discard_file(const std::filesystem::path& path) noexcept {
    if (::truncate(path.c_str(), 0) != 0) {
        // It does not exist or must not be truncated: only unlink is left.
    }
    unlink_file(path);
}

void publish_file(const std::filesystem::path& temporary, const std::filesystem::path& target) {
    try {
        FileDescriptor fd(::open(temporary.c_str(), O_RDONLY | O_CLOEXEC));
        if (fd.get() < 0) throw FileError("open", temporary.string(), errno);
        flush(fd.get(), FileCall::Sync, temporary, target);
        if (rename_file(temporary, target) != 0) throw FileError("write", target.string(), errno);
    } catch (...) {
        discard_file(temporary);
        throw;
    }
    sync_folder(folder_of(target));
}

void write_temporary(const std::filesystem::path& temporary, std::span<const std::byte> bytes,
                     const std::filesystem::path& target) {
    FileDescriptor fd(create_file(temporary, O_WRONLY | O_TRUNC));
    if (fd.get() < 0) throw FileError("create", target.string(), errno);
    try {
        write_all(fd.get(), bytes, temporary, target);
        // Quotas and network file systems may report a full disk only now.
        if (::close(fd.release()) != 0) throw FileError("write", target.string(), errno);
    } catch (...) {
        discard_file(temporary);
        throw;
    }
}

std::filesystem::path follow_links(const std::filesystem::path& path) {
    constexpr int most_links = 40;  // the kernel's limit
    std::filesystem::path at = path;
    for (int i = 0; i < most_links; ++i) {
        std::error_code error;
        const std::filesystem::path to = std::filesystem::read_symlink(at, error);
        if (error) return at;  // not a link
        at = to.is_absolute() ? to : folder_of(at) / to;
    }
    throw FileError("open", path.string(), ELOOP, ExitCode::BadInput);
}

void create_folders(const std::filesystem::path& folder) {
    std::error_code error;
    if (folder.empty() || std::filesystem::is_directory(folder, error)) return;
    create_folders(folder.parent_path());
    if (make_folder(folder) == 0) {
        sync_folder(folder_of(folder));
        return;
    }
    const int why = errno;  // another rank or run may have been faster
    if (!std::filesystem::is_directory(folder, error))
        throw FileError("create the folder", folder.string(), why == EEXIST ? ENOTDIR : why,
                        ExitCode::BadInput);
}

void remove_entry(const std::filesystem::path& path) {
    using namespace std::chrono;
    const auto deadline = steady_clock::now() + seconds(30);
    for (;;) {
        const std::error_code error = remove_tree(path);
        std::error_code ignored;
        // A file in it that another has just renamed or removed is also "no such file".
        if (!error || !std::filesystem::exists(std::filesystem::symlink_status(path, ignored))) return;
        const bool changing =
            error == std::errc::directory_not_empty || error == std::errc::no_such_file_or_directory;
        if (!changing || steady_clock::now() > deadline)
            throw FileError("remove", path.string(), error.value());
    }
}

void sync_file_system(const std::filesystem::path& folder) {
    FileDescriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd.get() < 0) throw FileError("open", folder.string(), errno);
    if (sync_file(fd.get(), folder, FileCall::SyncAll) != 0) throw FileError("write", folder.string(), errno);
}

}  // namespace voltpile
