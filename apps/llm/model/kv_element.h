// How the cache holds keys and values.
#pragma once

#include <cstddef>
#include <cstdint>

namespace voltpile::llm {

// I8: of each token and KV head, scale = largest |x| / 127 in fp32, and the whole numbers nearest to x /
// scale (0 where the largest is 0; scale NaN where a number is not finite). x is then q * scale.
enum class KvElement { F16, I8 };

constexpr std::size_t bytes_of(KvElement element) {
    return element == KvElement::F16 ? 2 : 1;
}

// Of keys, or values, of one token and KV head, scale included.
constexpr std::size_t kv_head_bytes(KvElement element, std::size_t head_dim) {
    return bytes_of(element) * head_dim + (element == KvElement::I8 ? sizeof(float) : 0);
}

}  // namespace voltpile::llm
