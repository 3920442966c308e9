// Reducing on the host, element by element in the order of the ranks; fp16 is summed in fp32 and rounded
// once.
#pragma once

#include <cstdint>
#include <span>

#include "comm/collective/types.h"

namespace voltpile {

// in: one pointer for each rank, (count) each; out: (count), may be one of them. type is not Byte.
void reduce_in_order(std::span<const void* const> in, void* out, std::int64_t count, ElementType type,
                     Reduction reduction);

}  // namespace voltpile
