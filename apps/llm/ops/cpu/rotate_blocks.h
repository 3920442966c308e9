// The rotation of heads for quantized KV caches.
#pragma once

#include <cstddef>

namespace voltpile::llm {

// Rotates each block of `order` of `count` numbers in place, see KvElement. count: a multiple of order, a
// power of two.
void rotate_blocks(float* numbers, std::ptrdiff_t count, int order);

}  // namespace voltpile::llm
