// Tracks which pages of the KV cache belong to which sequence. Host-side bookkeeping only; KvCache owns the
// memory. All ranks of a replica keep the same state.
#pragma once

#include <cstdint>
#include <vector>

namespace voltpile::llm {

// A copy of a page of the KV cache to a slot in host memory, or back.
struct PageMove {
    std::int32_t page = 0;
    std::int32_t slot = 0;
    bool out = false;  // to host memory

    bool operator==(const PageMove&) const = default;
};

// Counts the users of pages 0 to pages - 1. Sequences with the same prefix share its pages.
class PagePool {
  public:
    explicit PagePool(int pages);

    int pages() const { return static_cast<int>(users_.size()); }
    int free_pages() const { return static_cast<int>(free_.size()); }
    int users(std::int32_t page) const { return users_[static_cast<std::size_t>(page)]; }

    std::int32_t take();  // returns a free page, now with one user; throws std::logic_error if there is none
    void share(std::int32_t page);    // adds a user; throws std::logic_error for a free page
    void release(std::int32_t page);  // removes a user; without users the page is free

  private:
    std::vector<std::int32_t> free_;  // a stack
    std::vector<int> users_;
};

// The pages of one sequence, in the order of its positions. The destructor releases them.
class SequencePages {
  public:
    explicit SequencePages(PagePool& pool) : pool_(&pool) {}
    // Starts with the first `tokens` tokens of `other` and shares their whole pages; a partial page is not
    // shared.
    SequencePages(const SequencePages& other, int tokens);
    ~SequencePages() { clear(); }
    SequencePages(SequencePages&& other) noexcept;
    SequencePages& operator=(SequencePages&& other) noexcept;

    // Makes room for positions 0 to tokens - 1. Returns false and changes nothing if too few pages are free.
    bool reserve(int tokens);
    void clear();

    const std::vector<std::int32_t>& pages() const { return pages_; }
    int room() const;  // in tokens

  private:
    PagePool* pool_;
    std::vector<std::int32_t> pages_;
};

}  // namespace voltpile::llm
