// Files that are there whole or not at all, by plain POSIX calls, so that errors carry the exact errno.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace voltpile {

// An owned file descriptor.
class FileDescriptor {
  public:
    explicit FileDescriptor(int fd) : fd_(fd) {}
    FileDescriptor(const FileDescriptor&) = delete;
    FileDescriptor& operator=(const FileDescriptor&) = delete;
    ~FileDescriptor();
    int get() const { return fd_; }
    int release();

  private:
    int fd_;
};

// A name beside `target` that no other process or thread uses, on any host:
// "<target>.<host>-<pid>-<thread>.tmp".
std::filesystem::path temporary_name(const std::filesystem::path& target);
inline constexpr const char* temporary_ending = ".tmp";

// Gives a file its final name for good: fsync, rename over `target`, fsync of the folder. Both in one folder.
// Throws FileError; then `temporary` is removed, its space is free again, and a file that it would have
// replaced is as it was.
void publish_file(const std::filesystem::path& temporary, const std::filesystem::path& target);

// Removes a file that an error left behind and frees its space even if somebody still holds it open. Never
// throws.
void discard_file(const std::filesystem::path& path) noexcept;

// Writes `bytes` under a temporary name and publishes it. Throws FileError.
void write_file_durably(const std::filesystem::path& target, std::span<const std::byte> bytes);

// The folder that a path lies in: "." for a bare name.
std::filesystem::path folder_of(const std::filesystem::path& path);

void sync_folder(const std::filesystem::path& folder);  // throws FileError

}  // namespace voltpile
