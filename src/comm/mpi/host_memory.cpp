#include "comm/mpi/host_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/host_name.h"

namespace voltpile {
namespace {

// Maps `bytes` of `file`, or memory of this process alone if there is no file.
void* map_memory(int file, std::size_t bytes) {
    void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, file, 0);
    return at == MAP_FAILED ? nullptr : at;
}

}  // namespace

HostMemory::HostMemory(const Communicator& group, const char* name, std::size_t bytes) : bytes_(bytes) {
    const auto hosts = group.all_gather(host_identity());
    const auto self = hosts.begin() + group.rank();
    leads_ = std::find(hosts.begin(), self, *self) == self;
    const auto leader =
        static_cast<std::size_t>(std::find(hosts.begin(), hosts.end(), *self) - hosts.begin());

    // A file without a name vanishes with its last process, however that ends.
    int file = -1;
    std::string path;
    if (leads_) {
        file = memfd_create(name, MFD_CLOEXEC);
        if (file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0)
            path = fmt::format("/proc/{}/fd/{}", getpid(), file);
    }
    const std::string shared = group.all_gather(path)[leader];
    if (!leads_ && !shared.empty()) file = open(shared.c_str(), O_RDWR | O_CLOEXEC);
    at_ = map_memory(file, bytes);
    if (!at_ && file >= 0) at_ = map_memory(-1, bytes);
    // The first rank of the host keeps its file open until all have opened it.
    group.all_gather("");
    if (file >= 0) close(file);
    if (!at_) throw Error(ExitCode::Failed, "out of memory");
}

HostMemory::~HostMemory() {
    munmap(at_, bytes_);
}

}  // namespace voltpile
