#include "device/memory.h"

#include <fmt/format.h>

#include "base/error.h"
#include "device/device.h"
#include "device/stream.h"
#if VOLTPILE_CUDA
#include "device/check.h"
#endif

namespace voltpile {

#if VOLTPILE_CUDA

void* allocate_device(std::size_t bytes) {
    void* pointer = nullptr;
    cuda_check(cudaMalloc(&pointer, bytes), fmt::format("allocating {} bytes", bytes).c_str());
    return pointer;
}
void release_device(void* pointer) noexcept {
    cudaFree(pointer);
}

void* allocate_pinned(std::size_t bytes) {
    void* pointer = nullptr;
    cuda_check(cudaMallocHost(&pointer, bytes),
               fmt::format("allocating {} bytes of pinned memory", bytes).c_str());
    return pointer;
}
void release_pinned(void* pointer) noexcept {
    cudaFreeHost(pointer);
}

void copy_to_device(void* device, const void* host, std::size_t bytes, const Stream& stream) {
    cuda_check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream.get()),
               "copying to the GPU");
}
void copy_to_host(void* host, const void* device, std::size_t bytes, const Stream& stream) {
    cuda_check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream.get()),
               "copying from the GPU");
}
void copy_on_device(void* to, const void* from, std::size_t bytes, const Stream& stream) {
    cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream.get()),
               "copying on the GPU");
}
std::int64_t device_bytes_in_use() {
    std::size_t free = 0, total = 0;
    cuda_check(cudaMemGetInfo(&free, &total), "asking for free memory");
    return static_cast<std::int64_t>(total - free);
}
void set_to_zero(void* device, std::size_t bytes, const Stream& stream) {
    cuda_check(cudaMemsetAsync(device, 0, bytes, stream.get()), "clearing memory");
}

#else

void* allocate_device(std::size_t) {
    throw DeviceError(kNoCuda);
}
void release_device(void*) noexcept {}
void* allocate_pinned(std::size_t) {
    throw DeviceError(kNoCuda);
}
void release_pinned(void*) noexcept {}
void copy_to_device(void*, const void*, std::size_t, const Stream&) {
    throw DeviceError(kNoCuda);
}
void copy_to_host(void*, const void*, std::size_t, const Stream&) {
    throw DeviceError(kNoCuda);
}
void copy_on_device(void*, const void*, std::size_t, const Stream&) {
    throw DeviceError(kNoCuda);
}
std::int64_t device_bytes_in_use() {
    throw DeviceError(kNoCuda);
}
void set_to_zero(void*, std::size_t, const Stream&) {
    throw DeviceError(kNoCuda);
}

#endif

}  // namespace voltpile
