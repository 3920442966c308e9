// The memory of the KV cache on one rank: keys and values of its stage's layers and its KV heads, in pages.
#pragma once

#include <memory>

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
    std::size_t element_bytes() const {
        return tokens() * static_cast<std::size_t>(head_dim) * bytes_of(element);
    }
    std::size_t layer_bytes() const {
        return (keys_are_values ? 1 : 2) * tokens() *
               kv_head_bytes(element, static_cast<std::size_t>(head_dim));
    }
    std::size_t bytes() const { return layer_bytes() * static_cast<std::size_t>(layers); }
};

class KvCache {
  public:
    KvCache(Ops& ops, const KvCacheShape& shape) : shape_(shape), memory_(ops.allocate(shape.bytes())) {}

    // layer: counted from the first of the stage.
    KvLayer layer(int layer) const {
        auto* const begin =
            static_cast<std::byte*>(memory_->data()) + shape_.layer_bytes() * static_cast<std::size_t>(layer);
        auto* const values = shape_.keys_are_values ? begin : begin + shape_.element_bytes();
        if (shape_.element == KvElement::F16) return {begin, values};
        // An int8 page has a multiple of 16 bytes, so the fp32 scales after it are aligned.
        auto* const scales = reinterpret_cast<float*>(values + shape_.element_bytes());
        auto* const value_scales = shape_.keys_are_values ? scales : scales + shape_.tokens();
        return {begin, values, shape_.element, scales, value_scales};
    }

  private:
    KvCacheShape shape_;
    std::unique_ptr<OpsMemory> memory_;
};

}  // namespace voltpile::llm
