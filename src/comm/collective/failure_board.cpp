#include "comm/collective/failure_board.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/error.h"
#include "base/host_name.h"

namespace voltpile {

struct FailureBoard::Page {
    std::atomic<int> by = 0;  // rank + 1 of the poster
    std::atomic<int> written = 0;
    char why[1000] = "";
};
static_assert(std::atomic<int>::is_always_lock_free);  // required in memory that processes share

namespace {

// Maps `bytes` of `file`, or memory of this process alone if there is no file.
void* map(int file, std::size_t bytes) {
    void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, file, 0);
    return at == MAP_FAILED ? nullptr : at;
}

}  // namespace

FailureBoard::FailureBoard(const Communicator& group) {
    const auto hosts = group.all_gather(host_identity());
    const auto self = hosts.begin() + group.rank();
    const bool leads = std::find(hosts.begin(), self, *self) == self;
    const auto leader =
        static_cast<std::size_t>(std::find(hosts.begin(), hosts.end(), *self) - hosts.begin());

    // A file without a name vanishes with its last process, however that ends.
    int file = -1;
    std::string path;
    if (leads) {
        file = memfd_create("voltpile-failure-board", MFD_CLOEXEC);
        if (file >= 0 && ftruncate(file, sizeof(Page)) == 0)
            path = fmt::format("/proc/{}/fd/{}", getpid(), file);
    }
    const std::string shared = group.all_gather(path)[leader];
    if (!leads && !shared.empty()) file = open(shared.c_str(), O_RDWR | O_CLOEXEC);
    void* at = map(file, sizeof(Page));
    if (!at && file >= 0) at = map(-1, sizeof(Page));
    // The first rank of the host keeps its file open until all have opened it. Zeros are an empty board.
    group.all_gather("");
    if (file >= 0) close(file);
    if (!at) throw Error(ExitCode::Failed, "out of memory");
    page_ = static_cast<Page*>(at);
}

FailureBoard::~FailureBoard() {
    munmap(page_, sizeof(Page));
}

void FailureBoard::post(int rank, const std::string& why) noexcept {
    int nobody = 0;
    if (!page_->by.compare_exchange_strong(nobody, rank + 1)) return;
    const std::size_t length = std::min(why.size(), sizeof page_->why - 1);
    std::memcpy(page_->why, why.data(), length);
    page_->written.store(1);
}

int FailureBoard::rank() const noexcept {
    return page_->by.load() - 1;
}

std::string FailureBoard::why() const {
    return page_->written.load() ? page_->why : "";
}

}  // namespace voltpile
