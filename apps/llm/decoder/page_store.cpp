#include "llm/decoder/page_store.h"

namespace voltpile::llm {

PageStore::PageStore(Ops& ops, const KvCache& cache, int slots)
    : ops_(ops),
      cache_(cache),
      memory_(ops.allocate_on_host(cache.shape().page_bytes() * static_cast<std::size_t>(slots))) {}

void PageStore::move(std::span<const PageMove> moves) {
    const KvCacheShape& shape = cache_.shape();
    const auto layers = static_cast<std::size_t>(shape.layers);
    for (const PageMove& move : moves) {
        auto* slot = static_cast<std::byte*>(memory_->data()) +
                     shape.page_bytes() * static_cast<std::size_t>(move.slot);
        for (const KvCache::PagePart& part : cache_.parts(move.page)) {
            const StridedRows page{part.begin, shape.layer_bytes()}, kept{slot, part.bytes};
            ops_.copy_rows(move.out ? kept : page, move.out ? page : kept, part.bytes, layers);
            slot += part.bytes * layers;
        }
    }
}

}  // namespace voltpile::llm
