#include "llm/decoder/page_store.h"

namespace voltpile::llm {

PageStore::PageStore(Ops& ops, const KvCache& cache, const PageRows& rows, int slots)
    : ops_(ops),
      cache_(cache),
      rows_(rows),
      memory_(
          ops.allocate_on_host((cache.shape().page_bytes() + rows.bytes) * static_cast<std::size_t>(slots))) {
}

void PageStore::move(std::span<const PageMove> moves) {
    const KvCacheShape& shape = cache_.shape();
    const auto layers = static_cast<std::size_t>(shape.layers);
    for (const PageMove& move : moves) {
        auto* slot = static_cast<std::byte*>(memory_->data()) +
                     (shape.page_bytes() + rows_.bytes) * static_cast<std::size_t>(move.slot);
        for (const KvCache::PagePart& part : cache_.parts(move.page)) {
            const StridedRows page{part.begin, shape.layer_bytes()}, kept{slot, part.bytes};
            ops_.copy_rows(move.out ? kept : page, move.out ? page : kept, part.bytes, layers);
            slot += part.bytes * layers;
        }
        if (rows_.bytes == 0) continue;
        const StridedRows rows{rows_.data + rows_.bytes * static_cast<std::size_t>(move.page), 0},
            kept{slot, 0};
        ops_.copy_rows(move.out ? kept : rows, move.out ? rows : kept, rows_.bytes, 1);
    }
}

}  // namespace voltpile::llm
