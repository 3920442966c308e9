// The host memory of one rank for pages that its KV cache has no room for.
#pragma once

#include <memory>
#include <span>

#include "llm/decoder/kv_cache.h"
#include "llm/decoder/kv_pages.h"

namespace voltpile::llm {

// Rows that each page has beside its keys and values, and that move with it.
struct PageRows {
    std::byte* data = nullptr;  // of the first page
    std::size_t bytes = 0;      // of a page; 0: no rows
};

class PageStore {
  public:
    // slots: pages in host memory. cache, ops and the rows must outlive this object. Throws DeviceError if
    // the host has not enough memory that a GPU can copy from.
    PageStore(Ops& ops, const KvCache& cache, const PageRows& rows, int slots);

    // Enqueues copies between pages and slots, in this order.
    void move(std::span<const PageMove> moves);

  private:
    Ops& ops_;
    const KvCache& cache_;
    PageRows rows_;
    std::unique_ptr<OpsMemory> memory_;  // (slots, layers, parts of a page), each with the page's rows behind
};

}  // namespace voltpile::llm
