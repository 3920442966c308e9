// The element type of keys and values in the KV cache.
#pragma once

#include <cstddef>
#include <cstdint>

namespace voltpile::llm {

// I8 stores, for each token and KV head, scale = max |x| / 127 in fp32 and q = x / scale rounded to the
// nearest integer; x is read as q * scale. If max |x| is 0, q is 0; if a number is not finite, the scale is
// NaN.
enum class KvElement { F16, I8 };

constexpr std::size_t bytes_of(KvElement element) {
    return element == KvElement::F16 ? 2 : 1;
}

// Returns the bytes of the keys, or the values, of one token and KV head, including the scale.
constexpr std::size_t kv_head_bytes(KvElement element, std::size_t head_dim) {
    return bytes_of(element) * head_dim + (element == KvElement::I8 ? sizeof(float) : 0);
}

}  // namespace voltpile::llm
