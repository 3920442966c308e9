// The host memory of one rank for pages that its KV cache has no room for.
#pragma once

#include <memory>
#include <span>

#include "llm/decoder/kv_cache.h"
#include "llm/decoder/kv_pages.h"

namespace voltpile::llm {

class PageStore {
  public:
    // slots: pages in host memory. cache, ops: must outlive this object. Throws DeviceError if the host has
    // not enough memory that a GPU can copy from.
    PageStore(Ops& ops, const KvCache& cache, int slots);

    // Enqueues copies between pages and slots, in this order.
    void move(std::span<const PageMove> moves);

  private:
    Ops& ops_;
    const KvCache& cache_;
    std::unique_ptr<OpsMemory> memory_;  // (slots, layers, parts of a page)
};

}  // namespace voltpile::llm
