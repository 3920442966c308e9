// Copies of rows between the GPU and the host.
#pragma once

#include <cstddef>

namespace voltpile {

class Stream;

// Enqueues a copy of `rows` rows of `bytes` bytes between the GPU and pinned host memory, in either
// direction. Strides are in bytes. Throws DeviceError.
void copy_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride, std::size_t bytes,
               std::size_t rows, const Stream& stream);

}  // namespace voltpile
