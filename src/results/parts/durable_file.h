// Writes files that exist completely or not at all. Uses plain POSIX calls, so that errors carry the exact
// errno.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

namespace voltpile {

// An owned file descriptor.
class FileDescriptor {
  public:
    explicit FileDescriptor(int fd) : fd_(fd) {}
    FileDescriptor() = default;
    FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~FileDescriptor();
    int get() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }

  private:
    int fd_ = -1;
};

// Returns a name beside `target` that no other process or thread uses, on any host:
// "<target>.<host>-<pid>-<thread>.tmp". It cuts the target's name where the whole would be too long for a
// file.
std::filesystem::path temporary_name(const std::filesystem::path& target);
inline constexpr const char* temporary_ending = ".tmp";

// Gives a file its final name, durably: fsync, rename over `target`, fsync of the folder. Both names are in
// one folder. Throws FileError after removing `temporary`; a file that it would have replaced stays as it
// was.
void publish_file(const std::filesystem::path& temporary, const std::filesystem::path& target);

// Removes a file that an error left, and frees its space even if another process holds it open. Never throws.
void discard_file(const std::filesystem::path& path) noexcept;

// Creates `temporary` with these bytes, without flushing it. Throws FileError, which names `target`, after
// removing `temporary`.
void write_temporary(const std::filesystem::path& temporary, std::span<const std::byte> bytes,
                     const std::filesystem::path& target);

// Returns the folder of a path: "." for a bare name.
std::filesystem::path folder_of(const std::filesystem::path& path);

// Returns what a path names after following symbolic links at its end, whether that exists or not. Throws
// FileError for links in a circle.
std::filesystem::path follow_links(const std::filesystem::path& path);

// Creates a folder and its parents, durably. Throws FileError (BadInput).
void create_folders(const std::filesystem::path& folder);

// Removes a file, or a folder with everything in it, including files that others are still adding. Does
// nothing if it does not exist. Throws FileError.
void remove_entry(const std::filesystem::path& path);

void sync_folder(const std::filesystem::path& folder);  // fsync; throws FileError

// Flushes everything written to the file system of `folder`. Throws FileError.
void sync_file_system(const std::filesystem::path& folder);

}  // namespace voltpile
