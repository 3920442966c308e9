// The kernel that measures the bandwidth of a GPU's memory.
#pragma once

#include <cstdint>

#include "device/stream.h"

namespace voltpile::llm {

// Reads `bytes` bytes, a multiple of 16, which must be zero. out: 4 bytes, which the kernel then does not
// write.
void launch_read_all(const void* data, std::int64_t bytes, void* out, int multiprocessors,
                     const Stream& stream);

}  // namespace voltpile::llm
