// Which pages of the cache belong to which sequence. Host-side state alone; the memory is KvCache's. Each
// rank of a replica keeps the same.
#pragma once

#include <cstdint>
#include <vector>

namespace voltpile::llm {

// Pages 0 .. pages - 1, each with the number of sequences that use it: beginnings that sequences share are
// kept once.
class PagePool {
  public:
    explicit PagePool(int pages);

    int pages() const { return static_cast<int>(users_.size()); }
    int free_pages() const { return static_cast<int>(free_.size()); }
    int users(std::int32_t page) const { return users_[static_cast<std::size_t>(page)]; }

    std::int32_t take();              // a free one, with one user; throws std::logic_error if there is none
    void share(std::int32_t page);    // one more user of a page in use
    void release(std::int32_t page);  // one user less; free when there is none

  private:
    std::vector<std::int32_t> free_;  // the last one goes first
    std::vector<int> users_;
};

// The pages of one sequence, in the order of its positions. Gives them back when it ends.
class SequencePages {
  public:
    explicit SequencePages(PagePool& pool) : pool_(&pool) {}
    // Begins with the first `tokens` of `other`: whole pages of them are shared, a rest is not.
    SequencePages(const SequencePages& other, int tokens);
    ~SequencePages() { clear(); }
    SequencePages(SequencePages&& other) noexcept;
    SequencePages& operator=(SequencePages&& other) noexcept;

    // Makes room for positions 0 .. tokens - 1. False, and nothing has changed, if too few pages are free.
    bool reserve(int tokens);
    void clear();

    const std::vector<std::int32_t>& pages() const { return pages_; }
    int room() const;  // in tokens

  private:
    PagePool* pool_;
    std::vector<std::int32_t> pages_;
};

}  // namespace voltpile::llm
