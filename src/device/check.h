// Turns CUDA's error codes into DeviceError. For sources that are built with CUDA only.
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

namespace voltpile {

[[noreturn]] void throw_device_error(cudaError_t error, std::string_view doing);

// doing: what for the call was, as in "GPU 2: allocating 16 bytes: out of memory".
inline void cuda_check(cudaError_t error, std::string_view doing) {
    if (error != cudaSuccess) throw_device_error(error, doing);
}

}  // namespace voltpile
