// Files that are there whole or not at all, by plain POSIX calls, so that errors carry the exact errno.
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

// A name beside `target` that no other process or thread uses, on any host:
// "<target>.<host>-<pid>-<thread>.tmp", with less of the target's name where that would be too long for a
// file.
std::filesystem::path temporary_name(const std::filesystem::path& target);
inline constexpr const char* temporary_ending = ".tmp";

// Gives a file its final name for good: fsync, rename over `target`, fsync of the folder. Both in one folder.
// Throws FileError; then `temporary` is removed, its space is free again, and a file that it would have
// replaced is as it was.
void publish_file(const std::filesystem::path& temporary, const std::filesystem::path& target);

// Removes a file that an error left behind and frees its space even if somebody still holds it open. Never
// throws.
void discard_file(const std::filesystem::path& path) noexcept;

// Creates `temporary` with these bytes, not flushed yet. Throws FileError, which names `target`; then nothing
// is left of it.
void write_temporary(const std::filesystem::path& temporary, std::span<const std::byte> bytes,
                     const std::filesystem::path& target);

// The folder that a path lies in: "." for a bare name.
std::filesystem::path folder_of(const std::filesystem::path& path);

// What a path names once symbolic links at its end have been followed, whether that exists or not. Throws
// FileError where they lead in a circle.
std::filesystem::path follow_links(const std::filesystem::path& path);

// Creates a folder and those above it, durably. Throws FileError (BadInput).
void create_folders(const std::filesystem::path& folder);

// Removes a file, or a folder with all that is in it and all that somebody is still putting into it. Fine if
// there is nothing. Throws FileError.
void remove_entry(const std::filesystem::path& path);

void sync_folder(const std::filesystem::path& folder);  // throws FileError

// Flushes everything written to the file system that `folder` is on. Throws FileError.
void sync_file_system(const std::filesystem::path& folder);

}  // namespace voltpile
