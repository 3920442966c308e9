// Owning buffers of GPU memory and of pinned host memory. Their contents start undefined.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "device/memory.h"

namespace voltpile {

template <class T, void* (*allocate)(std::size_t), void (*release)(void*) noexcept>
class OwnedBuffer {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    OwnedBuffer() = default;
    // Allocates `size` elements; 0 allocates nothing. Throws DeviceError if there is not enough memory.
    explicit OwnedBuffer(std::size_t size)
        : data_(size == 0 ? nullptr : static_cast<T*>(allocate(size * sizeof(T)))), size_(size) {}
    ~OwnedBuffer() {
        if (data_ != nullptr) release(data_);
    }
    OwnedBuffer(OwnedBuffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    OwnedBuffer& operator=(OwnedBuffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }

    T* data() { return data_; }
    const T* data() const { return data_; }
    std::size_t size() const { return size_; }
    std::size_t bytes() const { return size_ * sizeof(T); }

  private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

template <class T>
using DeviceBuffer = OwnedBuffer<T, allocate_device, release_device>;  // only the GPU may read data()
template <class T>
using PinnedBuffer = OwnedBuffer<T, allocate_pinned, release_pinned>;  // host and GPU may read data()

}  // namespace voltpile
