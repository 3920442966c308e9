#include "llm/bench/file_rate.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>

#include "base/error.h"
#include "base/seconds_since.h"

namespace voltpile::llm {
namespace {

using Clock = std::chrono::steady_clock;

struct File {
    explicit File(const std::string& name) : path(name), descriptor(::open(name.c_str(), O_RDONLY)) {
        if (descriptor < 0) throw FileError("open", path, errno);
    }
    ~File() { ::close(descriptor); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    const std::string& path;
    int descriptor;
};

}  // namespace

double file_read_rate(const std::vector<std::string>& paths, int reader, int readers) {
    std::vector<std::byte> piece(std::size_t{8} << 20);
    std::int64_t bytes = 0;
    const auto begin = Clock::now();
    for (const std::string& path : paths) {
        const File file(path);
        const std::int64_t size = ::lseek(file.descriptor, 0, SEEK_END);
        const std::int64_t end = size * (reader + 1) / readers;
        for (std::int64_t at = size * reader / readers; at < end;) {
            const auto wanted = std::min<std::int64_t>(static_cast<std::int64_t>(piece.size()), end - at);
            const ssize_t got = ::pread(file.descriptor, piece.data(), static_cast<std::size_t>(wanted), at);
            if (got <= 0) throw FileError("read", path, got < 0 ? errno : EIO);
            at += got;
            bytes += got;
        }
    }
    return static_cast<double>(bytes) / seconds_since(begin);
}

std::int64_t host_bytes_in_use() {
    std::ifstream file("/proc/self/statm");
    std::int64_t size = 0, resident = 0;
    file >> size >> resident;
    return resident * ::sysconf(_SC_PAGESIZE);
}

}  // namespace voltpile::llm
