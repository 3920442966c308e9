#include "results/lock_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/host_name.h"

namespace voltpile {
namespace {

std::string holder(int fd) {
    char text[512];
    const ssize_t size = ::pread(fd, text, sizeof text, 0);
    if (size <= 0) return "not known which";
    std::string line(text, static_cast<std::size_t>(size));
    return line.substr(0, line.find('\n'));
}

// False if a finishing run has deleted the file between our opening and locking it.
bool is_still_there(int fd, const std::filesystem::path& path) {
    struct stat opened {};
    struct stat named {};
    return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

void write_holder(int fd, const std::filesystem::path& path) {
    const std::string line = fmt::format("pid {} on {}\n", ::getpid(), host_name());
    if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, line.data(), line.size(), 0) < 0) {
        throw FileError("write", path.string(), errno);
    }
}

}  // namespace

FileDescriptor acquire_lock(const std::filesystem::path& path, const std::filesystem::path& what) {
    for (;;) {
        FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
        if (fd.get() < 0) throw FileError("create", path.string(), errno, ExitCode::BadInput);
        if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
            if (errno == EINTR) continue;
            if (errno != EWOULDBLOCK) throw FileError("lock", path.string(), errno, ExitCode::CannotRun);
            throw FileError(fmt::format("another run is writing {} ({})", what.string(), holder(fd.get())),
                            ExitCode::CannotRun);
        }
        if (!is_still_there(fd.get(), path)) continue;
        write_holder(fd.get(), path);
        return FileDescriptor(fd.release());
    }
}

}  // namespace voltpile
