// The memory of the KV cache on one rank: keys and values of its stage's layers and its KV heads, in pages.
#pragma once

#include <memory>
#include <vector>

#include "llm/ops/ops.h"

namespace voltpile::llm {

struct KvCacheShape {
    int layers = 0;
    int kv_heads = 0;
    int head_dim = 0;
    int pages = 0;
    KvElement element = KvElement::F16;
    bool keys_are_values = false;  // latent attention: stored once

    // Tokens in all pages times KV heads; each has head_dim keys and, unless keys_are_values, as many values.
    std::size_t tokens() const {
        return static_cast<std::size_t>(pages) * static_cast<std::size_t>(kv_heads) *
               static_cast<std::size_t>(kv_page_tokens);
    }
    // Bytes of one layer's keys, or values, without scales.
    std::size_t number_bytes() const {
        return tokens() * kv_number_bytes(element, static_cast<std::size_t>(head_dim));
    }
    // Bytes of the scales of one layer's keys, or values.
    std::size_t scale_bytes() const {
        return tokens() * kv_scale_bytes(element, static_cast<std::size_t>(head_dim));
    }
    std::size_t layer_bytes() const { return (keys_are_values ? 1 : 2) * (number_bytes() + scale_bytes()); }
    // Bytes of a page in all layers, with scales.
    std::size_t page_bytes() const { return bytes() / static_cast<std::size_t>(pages); }
    std::size_t bytes() const { return layer_bytes() * static_cast<std::size_t>(layers); }
};

class KvCache {
  public:
    KvCache(Ops& ops, const KvCacheShape& shape) : shape_(shape), memory_(ops.allocate(shape.bytes())) {}

    // layer: counted from the first of the stage.
    KvLayer layer(int layer) const {
        auto* const begin =
            static_cast<std::byte*>(memory_->data()) + shape_.layer_bytes() * static_cast<std::size_t>(layer);
        auto* const values = shape_.keys_are_values ? begin : begin + shape_.number_bytes();
        if (!is_quantized(shape_.element)) return {begin, values, shape_.element};
        // The numbers of a page have a multiple of 16 bytes, so the scales after them are aligned.
        auto* const scales = values + shape_.number_bytes();
        auto* const value_scales = shape_.keys_are_values ? scales : scales + shape_.scale_bytes();
        return {begin, values, shape_.element, scales, value_scales};
    }

    // A part of a page: `bytes` bytes in each layer, KvCacheShape::layer_bytes() apart.
    struct PagePart {
        std::byte* begin = nullptr;  // in the first layer
        std::size_t bytes = 0;
    };
    // Returns keys, values unless these are the keys, and their scales if they are quantized.
    std::vector<PagePart> parts(int page) const {
        const KvLayer first = layer(0);
        const auto part = [&](void* of, std::size_t bytes_of_all) {
            const std::size_t bytes = bytes_of_all / static_cast<std::size_t>(shape_.pages);
            return PagePart{static_cast<std::byte*>(of) + bytes * static_cast<std::size_t>(page), bytes};
        };
        std::vector<PagePart> parts;
        for (void* const elements : {first.keys, first.values})
            if (parts.empty() || !shape_.keys_are_values)
                parts.push_back(part(elements, shape_.number_bytes()));
        if (first.key_scales == nullptr) return parts;
        parts.push_back(part(first.key_scales, shape_.scale_bytes()));
        if (!shape_.keys_are_values) parts.push_back(part(first.value_scales, shape_.scale_bytes()));
        return parts;
    }
    const KvCacheShape& shape() const { return shape_; }

  private:
    KvCacheShape shape_;
    std::unique_ptr<OpsMemory> memory_;
};

}  // namespace voltpile::llm
