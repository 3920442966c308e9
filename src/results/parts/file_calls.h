// The system calls that change files of a result, in one place: faults strike here (base/fault.h), and a test
// can watch their order, from which it makes what a power cut would leave. Each returns what the system call
// returns and sets errno. Private to src/results.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <system_error>

namespace voltpile {

enum class FileCall { Create, Write, Sync, SyncFolder, SyncAll, Rename, Link, Unlink, MakeFolder, RemoveAll };

// Learns of each call after it succeeded. Calls may come from several threads.
class FileWatcher {
  public:
    virtual ~FileWatcher() = default;
    // to: of Rename and Link; empty otherwise.
    virtual void after(FileCall call, const std::filesystem::path& path, const std::filesystem::path& to) = 0;
};

// Sets who watches in this process, or nobody (nullptr, at the start). For tests, before other threads start.
void watch_files(FileWatcher* watcher);

int create_file(const std::filesystem::path& path,
                int flags);  // a descriptor; O_CREAT and O_CLOEXEC are added
ssize_t write_file(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path);
int sync_file(int fd, const std::filesystem::path& path, FileCall call);  // fsync, or syncfs for SyncAll
int rename_file(const std::filesystem::path& from, const std::filesystem::path& to);
int link_file(const std::filesystem::path& from, const std::filesystem::path& to);
int unlink_file(const std::filesystem::path& path);
int make_folder(const std::filesystem::path& path);

// Removes a file, or a folder with everything in it.
std::error_code remove_tree(const std::filesystem::path& path);

}  // namespace voltpile
