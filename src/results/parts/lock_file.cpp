#include "results/parts/lock_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <thread>

namespace voltpile {
namespace {

// Returns false if another process holds the lock.
bool lock_now(int fd, int how, const std::filesystem::path& path) {
    for (;;) {
        if (::flock(fd, how | LOCK_NB) == 0) return true;
        if (errno == EWOULDBLOCK) return false;
        if (errno != EINTR) throw FileError("lock", path.string(), errno, ExitCode::CannotRun);
    }
}

}  // namespace

std::string lock_name(const Shard& shard) {
    return shard.is_whole() ? "lock" : fmt::format("lock-{}of{}", shard.index, shard.count);
}

std::optional<Shard> parse_lock_name(const std::string& file_name) {
    Shard shard;
    if (file_name == lock_name(shard)) return shard;
    const auto of = file_name.find("of");
    if (!file_name.starts_with("lock-") || of == std::string::npos) return std::nullopt;
    const char* const text = file_name.data();
    std::from_chars(text + 5, text + of, shard.index);
    std::from_chars(text + of + 2, text + file_name.size(), shard.count);
    if (lock_name(shard) != file_name) return std::nullopt;
    return shard;
}

std::vector<std::filesystem::path> lock_files(const std::filesystem::path& parts) {
    std::vector<std::filesystem::path> locks;
    std::error_code error;
    std::filesystem::directory_iterator it(parts, error);
    for (; !error && it != std::filesystem::directory_iterator(); it.increment(error))
        if (parse_lock_name(it->path().filename().string())) locks.push_back(it->path());
    return locks;
}

bool is_still_there(const FileDescriptor& lock, const std::filesystem::path& path) {
    struct stat opened {};
    struct stat named {};
    return ::fstat(lock.get(), &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

std::optional<FileDescriptor> try_lock(const std::filesystem::path& path) {
    using namespace std::chrono_literals;
    for (int attempt = 0;;) {
        FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
        if (fd.get() < 0) throw FileError("create", path.string(), errno, ExitCode::BadInput);
        if (!lock_now(fd.get(), LOCK_EX, path)) {
            // The holder may only be checking whether the lock is held, or be a process that is just ending.
            if (++attempt == 4) return std::nullopt;
            std::this_thread::sleep_for(5ms);
            continue;
        }
        if (is_still_there(fd, path)) return fd;
    }
}

bool is_locked(const std::filesystem::path& path) {
    const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    return fd.get() >= 0 && !lock_now(fd.get(), LOCK_SH, path);
}

void write_lock(const FileDescriptor& lock, const std::filesystem::path& path, const LifeRecord& holder) {
    const std::string line = holder.to_json() + "\n";
    if (::ftruncate(lock.get(), 0) != 0 || ::pwrite(lock.get(), line.data(), line.size(), 0) < 0)
        throw FileError("write", path.string(), errno);
}

std::optional<LifeRecord> read_lock(const std::filesystem::path& path) {
    const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    char text[4096];
    const ssize_t size = fd.get() < 0 ? -1 : ::pread(fd.get(), text, sizeof text, 0);
    if (size <= 0) return std::nullopt;
    const std::string line(text, static_cast<std::size_t>(size));
    return LifeRecord::from_json(line.substr(0, line.find('\n')));
}

FileDescriptor replace_lock(const Life& life, const std::filesystem::path& path, const LifeRecord& holder) {
    const std::filesystem::path temporary = temporary_in(life, path.filename());
    FileDescriptor lock(::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (lock.get() < 0 || !lock_now(lock.get(), LOCK_EX, path)) {
        const int why = errno;
        check_not_taken_over(life);
        throw FileError("create", path.string(), why);
    }
    write_lock(lock, path, holder);
    publish_in(life, temporary, path);
    return lock;
}

}  // namespace voltpile
