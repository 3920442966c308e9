// The memory of keys and values: of a stage's layers and a rank's KV heads, in pages.
#pragma once

#include <memory>

#include "llm/ops/ops.h"

namespace voltpile::llm {

struct KvCacheShape {
    int layers = 0;
    int kv_heads = 0;
    int head_dim = 0;
    int pages = 0;

    // Keys, or values, of one layer.
    std::size_t elements() const {
        return static_cast<std::size_t>(pages) * static_cast<std::size_t>(kv_heads) *
               static_cast<std::size_t>(kv_page_tokens * head_dim);
    }
    std::size_t bytes() const {
        return 2 * sizeof(std::uint16_t) * elements() * static_cast<std::size_t>(layers);
    }
};

class KvCache {
  public:
    KvCache(Ops& ops, const KvCacheShape& shape)
        : layer_bytes_(sizeof(std::uint16_t) * shape.elements()), memory_(ops.allocate(shape.bytes())) {}

    // layer: the first of the stage is 0.
    KvLayer layer(int layer) const {
        auto* const begin =
            static_cast<std::byte*>(memory_->data()) + 2 * layer_bytes_ * static_cast<std::size_t>(layer);
        return {begin, begin + layer_bytes_};
    }

  private:
    std::size_t layer_bytes_;
    std::unique_ptr<OpsMemory> memory_;
};

}  // namespace voltpile::llm
