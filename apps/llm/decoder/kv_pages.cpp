#include "llm/decoder/kv_pages.h"

#include <stdexcept>
#include <utility>

#include "llm/ops/batch.h"

namespace voltpile::llm {

PagePool::PagePool(int pages) : users_(static_cast<std::size_t>(pages), 0) {
    for (int page = pages - 1; page >= 0; --page) free_.push_back(page);
}

std::int32_t PagePool::take() {
    if (free_.empty()) throw std::logic_error("the KV cache has no free page");
    const std::int32_t page = free_.back();
    free_.pop_back();
    users_[static_cast<std::size_t>(page)] = 1;
    return page;
}

void PagePool::share(std::int32_t page) {
    int& users = users_[static_cast<std::size_t>(page)];
    if (users == 0) throw std::logic_error("a free page cannot be shared");
    ++users;
}

void PagePool::release(std::int32_t page) {
    if (--users_[static_cast<std::size_t>(page)] == 0) free_.push_back(page);
}

SequencePages::SequencePages(const SequencePages& other, int tokens) : pool_(other.pool_) {
    const auto whole = static_cast<std::size_t>(tokens / kv_page_tokens);
    pages_.assign(other.pages_.begin(), other.pages_.begin() + static_cast<std::ptrdiff_t>(whole));
    for (const std::int32_t page : pages_) pool_->share(page);
}

SequencePages::SequencePages(SequencePages&& other) noexcept
    : pool_(other.pool_), pages_(std::exchange(other.pages_, {})) {}

SequencePages& SequencePages::operator=(SequencePages&& other) noexcept {
    if (this == &other) return *this;
    clear();
    pool_ = other.pool_;
    pages_ = std::exchange(other.pages_, {});
    return *this;
}

bool SequencePages::reserve(int tokens) {
    const int missing = pages_for(tokens) - static_cast<int>(pages_.size());
    if (missing > pool_->free_pages()) return false;
    for (int i = 0; i < missing; ++i) pages_.push_back(pool_->take());
    return true;
}

void SequencePages::clear() {
    for (const std::int32_t page : pages_) pool_->release(page);
    pages_.clear();
}

int SequencePages::room() const {
    return static_cast<int>(pages_.size()) * kv_page_tokens;
}

}  // namespace voltpile::llm
