#include "comm/collective/failure_board.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace voltpile {

struct FailureBoard::Page {   // zeros are an empty board
    std::atomic<int> by = 0;  // rank + 1 of the poster
    std::atomic<int> written = 0;
    char why[1000] = "";
};
static_assert(std::atomic<int>::is_always_lock_free);  // required in memory that processes share

FailureBoard::FailureBoard(const Communicator& group)
    : memory_(group, "voltpile-failure-board", sizeof(Page)), page_(static_cast<Page*>(memory_.get())) {}

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
