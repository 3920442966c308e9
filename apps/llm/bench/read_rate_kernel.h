#pragma once

#include <cstdint>

#include "device/stream.h"

namespace voltpile::llm {

// Reads `bytes` (a multiple of 16) of zeros; out: 4 bytes that are not written then.
void launch_read_all(const void* data, std::int64_t bytes, void* out, int multiprocessors,
                     const Stream& stream);

}  // namespace voltpile::llm
