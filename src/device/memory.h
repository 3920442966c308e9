// Untyped allocation and copying; prefer the owning types of buffer.h. All functions throw DeviceError,
// except the release functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace voltpile {

class Stream;

void* allocate_device(std::size_t bytes);
void release_device(void* pointer) noexcept;
void* allocate_pinned(std::size_t bytes);
void release_pinned(void* pointer) noexcept;

// Enqueues a copy. Host memory should be pinned; otherwise the call waits for the copy.
void copy_to_device(void* device, const void* host, std::size_t bytes, const Stream& stream);
void copy_to_host(void* host, const void* device, std::size_t bytes, const Stream& stream);
void copy_on_device(void* to, const void* from, std::size_t bytes, const Stream& stream);
// Returns the bytes that all processes use of the current GPU's memory. Take differences of it.
std::int64_t device_bytes_in_use();
void set_to_zero(void* device, std::size_t bytes, const Stream& stream);

}  // namespace voltpile
