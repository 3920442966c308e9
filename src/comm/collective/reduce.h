// Reduces on the host, element by element in rank order. fp16 is summed in fp32 and rounded once.
#pragma once

#include <cstdint>
#include <span>

#include "comm/collective/types.h"

namespace voltpile {

// in: one pointer per rank, each to `count` elements. out: `count` elements, may be one of them. type is not
// Byte.
void reduce_in_order(std::span<const void* const> in, void* out, std::int64_t count, ElementType type,
                     Reduction reduction);

}  // namespace voltpile
